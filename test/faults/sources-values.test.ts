/** Rows 8 to 11 and 13: values that JSON has no words for, that never end, or that are not what they seem. */
import fc from 'fast-check';
import { expect } from 'vitest';
import type { GraphBody, TaskDetailBody, TasksBody } from '../../src/wire.ts';
import {
  ANY_VALUES,
  COMPONENT_FIELDS,
  EVENT_FIELDS,
  SCHEDULE_FIELDS,
  TASK_FIELDS,
  WORKER_FIELDS,
} from '../helpers/any-values.ts';
import { createShop } from '../router/shop-sources.ts';
import { type FaultBench, faultCase } from './kit/fault-case.ts';
import { prototypes } from './prototypes.ts';

/** Serves one item of each kind with the same value in one field after the other; all routes show them. */
async function serveFields({ serve, expectAnswer }: FaultBench) {
  const shown: { value: unknown } = { value: undefined };
  const each = (fields: readonly string[], whole: object): never[] =>
    fields.map((field, index) => ({ ...whole, ...numbered(whole, index), [field]: shown.value }) as never);
  const task = { id: 'a', state: 'STARTED' };
  const detail = () => Object.assign({}, ...each(TASK_FIELDS.slice(2), task), task);
  const { sources } = createShop();
  const host = await serve({
    sources: {
      tasks: {
        ...sources.tasks,
        listTasks: () => ({ tasks: each(TASK_FIELDS, task), next: null, total: 1 }),
        getTask: detail,
        getTaskTree: () => ({ rootId: 'a', tasks: [detail()] }),
      },
      workers: {
        ...sources.workers,
        listWorkers: () => each(WORKER_FIELDS, { hostname: 'a', status: 'online' }),
      },
      events: {
        ...sources.events,
        listEvents: () => ({ events: each(EVENT_FIELDS, { id: 'a', type: 't' }), cursor: 'a', gap: false }),
      },
      schedules: { ...sources.schedules, listSchedules: () => each(SCHEDULE_FIELDS, { id: 'a', name: 'n' }) },
      components: {
        ...sources.components,
        listComponents: () =>
          each(COMPONENT_FIELDS, { key: 'a', name: 'n', enabled: true, status: 'up' as const }),
      },
    },
  });
  const paths = [
    'tasks/',
    'tasks/?q=x',
    'tasks/a/',
    'tasks/a/graph/',
    'tasks/a/relations/',
    'tasks/a/graph/updates/',
  ];
  paths.push('workers/', 'events/latest/', 'beat/schedules/', 'components/');
  return {
    shown,
    host,
    /** Asks every route; each answer is whole UTF-8 and fits its schema. */
    async askAll(status: readonly number[] = [200]) {
      for (const path of paths) {
        const { bytes } = await expectAnswer(host, `/api/${path}`, { status });
        new TextDecoder('utf-8', { fatal: true }).decode(bytes);
        expect(bytes.toString()).not.toContain('hunter2');
        JSON.parse(bytes.toString(), expectWhole);
      }
    },
  };
}

/** Half a character is no text: many readers of JSON refuse it. */
function expectWhole(key: string, value: unknown): unknown {
  for (const text of [key, value]) {
    if (typeof text === 'string' && /\p{Surrogate}/u.test(text)) throw new Error(`half a character: ${key}`);
  }
  return value;
}

/** Items of one list differ in what tells them apart. */
function numbered(whole: object, index: number): object {
  const [identity = ''] = Object.keys(whole);
  return { [identity]: `a${index}` };
}

faultCase(
  8,
  `each of ${ANY_VALUES.length} kinds of values in each field of each item`,
  async (bench) => {
    const before = prototypes();
    const { shown, askAll } = await serveFields(bench);
    for (const [what, value] of ANY_VALUES) {
      shown.value = value;
      // Nobody can even ask whether it is an array: a task with that is none.
      await askAll(what === 'a revoked proxy' ? [200, 502] : [200]);
    }
    expect(prototypes()).toBe(before);
    bench.figure('values', ANY_VALUES.length);
  },
  { timeout: 120_000 },
);

class Order {
  readonly number = 7;
  get secret(): string {
    return 'inherited';
  }
}
const circle: Record<string, unknown> = { a: 1 };
circle.self = circle;
let deep: unknown = 'end';
for (let depth = 0; depth < 20_000; depth += 1) deep = [deep];
const thrower = () => {
  throw new Error('no');
};
const members = {
  a: 1,
  get b() {
    return thrower();
  },
};
const hostile = new Proxy({}, { get: thrower, ownKeys: thrower, getPrototypeOf: thrower });
const nested = `${'['.repeat(8)}"[Depth]"${']'.repeat(8)}`;

/** By row: a value, and its text. */
const TEXTS: readonly (readonly [row: number, value: unknown, text: string | null])[] = [
  [8, 10n, '10'],
  [8, Symbol('a'), null],
  [8, () => 1, null],
  [8, undefined, null],
  [8, { a: 10n, b: Symbol('a'), c: () => 1, d: undefined }, '{"a":"10"}'],
  [8, [10n, Symbol('a'), () => 1, undefined], '["10",null,null,null]'],
  [9, Number.NaN, null],
  [9, Number.POSITIVE_INFINITY, null],
  [9, -0, '0'],
  [9, new Date(Number.NaN), null],
  [9, [Number.NaN, Number.NEGATIVE_INFINITY, -0, new Date(Number.NaN)], '[null,null,0,null]'],
  [10, new Date(0), '1970-01-01T00:00:00.000Z'],
  [10, Buffer.alloc(9), '<bytes 9>'],
  [10, new Uint16Array(4), '<bytes 8>'],
  [10, new Map([['a', 1]]), '[["a",1]]'],
  [10, new Set(['a', 1]), '["a",1]'],
  [10, new TypeError('password=hunter2'), 'TypeError: password=***'],
  [10, new Order(), '{"number":7}'],
  [11, circle, '{"a":1,"self":"[Circular]"}'],
  [11, deep, nested],
  [11, members, '{"a":1,"b":"[Unreadable]"}'],
  [11, { toJSON: thrower }, '[Unreadable]'],
  [11, hostile, '[Unreadable]'],
];

for (const row of [8, 9, 10, 11]) {
  const texts = TEXTS.filter(([of]) => of === row);
  faultCase(row, `${texts.length} values as text in list, detail and graph`, async (bench) => {
    const { shown, host } = await serveFields(bench);
    for (const [, value, text] of texts) {
      shown.value = value;
      const ask = <T>(path: string) => bench.expectAnswer<T>(host, `/api/tasks/${path}`, { status: 200 });
      const { tasks } = (await ask<TasksBody>('')).body;
      expect(tasks.find((one) => one.task_id === `a${TASK_FIELDS.indexOf('args')}`)?.args).toBe(text);
      expect((await ask<TaskDetailBody>('a/')).body).toMatchObject({
        args: text,
        kwargs: text,
        result: text,
      });
      expect((await ask<GraphBody>('a/graph/')).body.nodes).toMatchObject([{ result_preview: text }]);
    }
  });
}

faultCase(9, 'numbers and times that are none are unknown', async (bench) => {
  const { shown, host } = await serveFields(bench);
  for (const [value, runtime] of [
    [Number.NaN, null],
    [Number.POSITIVE_INFINITY, null],
    [-0, 0],
  ] as const) {
    shown.value = value;
    const { body } = await bench.expectAnswer<TaskDetailBody>(host, '/api/tasks/a/', { status: 200 });
    expect(body).toMatchObject({ runtime, retries: runtime, started: null, eta: null });
    expect(Object.is(body.runtime, -0)).toBe(false);
  }
  shown.value = new Date(Number.NaN);
  const { body } = await bench.expectAnswer<TaskDetailBody>(host, '/api/tasks/a/', { status: 200 });
  expect(body).toMatchObject({ sent: null, received: null, finished: null, timestamp: null, runtime: null });
});

faultCase(13, 'texts of any characters, and of halves of them, in each field', async (bench) => {
  const { shown, askAll } = await serveFields(bench);
  const odd = fc.constantFrom(
    '\ud800',
    '\udc00x',
    '\u2028',
    '\0',
    '\u202e',
    '\ufeff',
    '💣',
    '\u001b[31m',
    '\r\n',
  );
  const text = fc.array(fc.oneof(fc.string({ unit: 'binary' }), odd)).map((parts) => parts.join(''));
  const unpaired = fc
    .array(fc.integer({ min: 0, max: 0xffff }))
    .map((units) => String.fromCharCode(...units));
  await fc.assert(
    fc.asyncProperty(fc.oneof(text, unpaired), async (value) => {
      for (const form of [value, { [value]: value }, [value]]) {
        shown.value = form;
        await askAll();
      }
    }),
    { numRuns: 30 },
  );
});
