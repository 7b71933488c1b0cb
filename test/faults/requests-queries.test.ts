/** Rows 46 and 47: queries of any kind, and texts to search for that mean something to other searchers. */
import fc from 'fast-check';
import { expect } from 'vitest';
import type { ProblemBody, TasksBody } from '../../src/wire.ts';
import { createShop } from '../router/shop-sources.ts';
import { expressCase, faultCase } from './kit/fault-case.ts';

/** Parameters of the task list, and whether a value of one is right, told without the library. */
const isOneOf =
  (...words: string[]) =>
  (value: string) =>
    words.includes(value);
const isWhole = (least: number, most: number) => (value: string) =>
  /^\d{1,9}$/.test(value) && Number(value) >= least && Number(value) <= most;
const PARAMETERS: Readonly<Record<string, { readonly repeats: boolean; isRight(value: string): boolean }>> = {
  limit: { repeats: false, isRight: isWhole(1, 1_000) },
  stats: { repeats: false, isRight: isWhole(1, 1_440) },
  sort: {
    repeats: false,
    isRight: isOneOf('timestamp', 'received', 'started', 'finished', 'runtime', 'name', 'state'),
  },
  order: { repeats: false, isRight: isOneOf('asc', 'desc') },
  q: { repeats: true, isRight: (value) => [...value].length <= 200 },
  state: { repeats: true, isRight: () => true },
  name: { repeats: true, isRight: () => true },
  root_id: { repeats: false, isRight: () => true },
};

const value = fc.oneof(
  fc.constantFrom(
    '',
    '-1',
    '1e9',
    '0x10',
    ' 5',
    '5 ',
    'NaN',
    '0',
    '1',
    '5',
    '1000',
    '1001',
    '1440',
    '05',
    '+5',
    '1.5',
  ),
  fc.constantFrom('asc', 'desc', 'ASC', 'name', 'runtime', 'SUCCESS', '__proto__', 'x'.repeat(201), 'a,b'),
  fc.string({ unit: 'grapheme' }),
);
const name = fc.oneof(
  { arbitrary: fc.constantFrom(...Object.keys(PARAMETERS)), weight: 6 },
  {
    arbitrary: fc.constantFrom(
      'LIMIT',
      'limit[]',
      'limit[gt]',
      '__proto__',
      'constructor[prototype][a]',
      'a.b',
      'toString',
    ),
    weight: 1,
  },
);
const pairs = fc.array(fc.tuple(name, value), { maxLength: 6 });

/** Names of all parameters at fault. */
function faultsOf(given: readonly (readonly [string, string])[]): string[] {
  const values = new Map<string, string[]>();
  for (const [key, text] of given) values.set(key, [...(values.get(key) ?? []), text]);
  const faulty = [...values].filter(([key, texts]) => {
    const parameter = Object.hasOwn(PARAMETERS, key) ? PARAMETERS[key] : undefined;
    if (parameter === undefined || texts.includes('')) return true;
    return (texts.length > 1 && !parameter.repeats) || !texts.every((text) => parameter.isRight(text));
  });
  return faulty.map(([key]) => key).sort();
}

expressCase(
  46,
  'queries are read as contracted, and every fault of one is listed',
  async ({ serve, expectAnswer, figure }) => {
    const host = await serve({ sources: createShop().sources });
    let refused = 0;
    const runs = 400;
    await fc.assert(
      fc.asyncProperty(pairs, async (given) => {
        const query = new URLSearchParams(given.map(([key, text]): [string, string] => [key, text]));
        // Half a character is sent as what stands for it.
        const sent = [...query].map(([key, text]) => [key, text] as const);
        // A limit of 0 goes with `stats`, and only with it: not told apart here.
        fc.pre(!sent.some(([key, text]) => key === 'limit' && /^0+$/.test(text)));
        const faults = faultsOf(sent);
        const path = `/api/tasks/?${query}`;
        if (faults.length === 0) {
          await expectAnswer(host, path, { status: 200 });
          return;
        }
        refused += 1;
        const { body } = await expectAnswer<ProblemBody>(host, path, {
          status: 400,
          code: 'invalid_parameter',
        });
        const told = new Set(body.errors?.map(({ parameter }) => parameter));
        expect([...told].sort()).toEqual(faults);
      }),
      { numRuns: runs },
    );
    expect(refused).toBeGreaterThan(0);
    figure('queries', runs);
  },
);

expressCase(46, 'a query of 2,000 names, and broken percent-encodings', async ({ serve, expectAnswer }) => {
  const host = await serve({ sources: createShop().sources });
  const many = Array.from({ length: 2_000 }, (_, index) => `k${index}=`).join('&');
  const refused = { status: 400, code: 'invalid_parameter' };
  const { body } = await expectAnswer<ProblemBody>(host, `/api/tasks/?${many}`, refused);
  expect(body.errors).toHaveLength(2_000);
  for (const broken of ['limit=%zz', 'q=%ff', 'state=%', '%zz=1', '%6Cimit=%zz', 'q=%ED%A0%80']) {
    await expectAnswer(host, `/api/tasks/?${broken}`, refused);
  }
  const states = (count: number) => Array.from({ length: count }, () => 'state=A').join('&');
  await expectAnswer(host, `/api/tasks/?${states(50)}`, { status: 200 });
  await expectAnswer(host, `/api/tasks/?${states(51)}`, refused);
});

/** Texts that mean something to regular expressions, globs, SQL or Redis; each stands in one task's name alone. */
const LITERAL = [
  '.*',
  '*',
  '[',
  ']',
  '[a-z]',
  '\\',
  '\\d',
  '(a+)+$',
  '^',
  '$',
  '?',
  '%_',
  '{1,9}',
  '|',
  "' OR 1=1",
  'a{99}',
];
const REDOS = ['(a+)+$', '(.*)*x', '(a|aa)+$', '([a-z]+)*[0-9]', '(x+x+)+y'];

faultCase(
  47,
  `${LITERAL.length} searches for what is a pattern elsewhere`,
  async ({ serve, expectAnswer, figure }) => {
    const shop = createShop();
    shop.tasks = [...LITERAL.map((text) => `<${text}>`), 'plain'].map((task, index) => ({
      id: `id-${index}`,
      state: 'STARTED',
      name: task,
      args: `${'a'.repeat(5_000)}!`,
    }));
    const host = await serve({ sources: shop.sources });
    for (const text of LITERAL) {
      const expected = shop.tasks.filter((task) => task.name?.includes(text)).map((task) => task.name);
      const q = `/api/tasks/?q=${encodeURIComponent(text)}`;
      const { body } = await expectAnswer<TasksBody>(host, q, { status: 200 });
      expect(body.tasks.map((task) => task.name).sort()).toEqual(expected.sort());
      // Filters compare whole texts.
      for (const filter of ['name', 'state', 'worker', 'queue', 'root_id']) {
        const path = `/api/tasks/?${filter}=${encodeURIComponent(text)}`;
        const none = await expectAnswer<TasksBody>(host, path, { status: 200 });
        expect(none.body.tasks).toEqual([]);
      }
    }
    const start = performance.now();
    for (const text of REDOS) {
      await expectAnswer(host, `/api/tasks/?q=${encodeURIComponent(text)}`, { status: 200 });
    }
    figure('each', `${((performance.now() - start) / REDOS.length).toFixed(1)} ms`);
  },
);
