/** Readers of text alone: JSON as Python writes it, cursors and times of clients, streams of events. */
import express, { type ErrorRequestHandler } from 'express';
import fc from 'fast-check';
import { expect, vi } from 'vitest';
import { createMonitorClient } from '../../../src/client.ts';
import { createMonitorRouter, type MonitorRouter } from '../../../src/index.ts';
import { context } from '../../helpers/celery-events.ts';
import { checkResponse } from '../../helpers/openapi-check.ts';
import { createShop } from '../../router/shop-sources.ts';
import { holdClock, openPlain, type Plain, tellAmidGood } from '../deployment.ts';
import { inject } from '../inject.ts';
import { anyValue, bytes, longText, number, pythonJson, text } from '../inputs.ts';
import { misfit, mutated } from '../mutations.ts';
import { BATCH } from '../said.ts';
import { RESULTS } from '../seeds.ts';
import { defineTarget } from '../target.ts';

const TYPED = [
  { __type__: 'datetime', __value__: '2024-02-29T12:30:00+05:30' },
  { __type__: 'time', __value__: '12:30:00.5' },
  { __type__: 'uuid', __value__: { bytes: 'AA==', hex: '0123456789abcdef0123456789abcdef' } },
  { __type__: 'decimal', __value__: '1.10' },
  { __type__: 'base64', __value__: '/wB=' },
  { a: [1, 'two', null, { __type__: 'date', __value__: '2024-02-29' }] },
];

/** A value in Python's own words, as simply as it can be made. */
function reprOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(reprOf).join(', ')}]`;
  if (typeof value === 'object' && value !== null) {
    return `{${Object.entries(value)
      .map(([key, member]) => `${reprOf(key)}: ${reprOf(member)}`)
      .join(', ')}}`;
  }
  if (typeof value === 'string') return `'${value}'`;
  return value === null
    ? 'None'
    : value === true
      ? 'True'
      : value === false
        ? 'False'
        : JSON.stringify(value);
}

const word = fc.stringMatching(/^[a-z0-9 .:,-]{0,12}$/);
const plainJson = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.oneof(word, fc.integer(), fc.boolean(), fc.constant(null)),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(
      word.filter((key) => key !== ''),
      tie('value'),
      { maxKeys: 4 },
    ),
  ),
})).value;

const hostileJson = fc.oneof(
  { weight: 4, arbitrary: misfit(TYPED).map(pythonJson) },
  { weight: 6, arbitrary: mutated([...RESULTS, ...TYPED.map((value) => JSON.stringify(value))]) },
  { weight: 4, arbitrary: text },
  { weight: 1, arbitrary: longText() },
);

const metaOf = (result: string): string => `{"status": "SUCCESS", "traceback": null, "result": ${result}}`;

/** What is shown of these values as the results of tasks. */
async function shownOf(values: readonly unknown[], { publish, sources }: Plain): Promise<string[]> {
  for (const [at, value] of values.entries()) publish(metaOf(JSON.stringify(value)), `value ${at}`);
  const tasks = values.map((_, at) => sources.tasks.getTask(`value ${at}`, context));
  return (await Promise.all(tasks)).map((task) => String(task?.result));
}

export const reprTarget = defineTarget({
  name: "Python's reprs of JSON",
  share: 120,
  covers: ['python-repr', 'python-json'].map((file) => `sources/celery/protocol/${file}.ts`),
  inputs: fc.record({ values: fc.array(plainJson, BATCH), texts: fc.array(hostileJson, BATCH) }),
  casesPerInput: 2 * BATCH.maxLength,
  open: async () => holdClock(),
  close: async () => void vi.useRealTimers(),
  async check({ values, texts }) {
    await tellAmidGood(async (plain) => {
      for (const [at, given] of texts.entries()) plain.publish(metaOf(given), `text ${at}`);
      expect(await shownOf(values, plain)).toEqual(values.map(reprOf));
    });
    const short = openPlain({ maxValueLength: 16 });
    try {
      // The beginning of a text does not depend on where it ends.
      for (const [at, shown] of (await shownOf(values, short)).entries())
        expect(reprOf(values[at]).startsWith(shown.slice(0, 12))).toBe(true);
    } finally {
      await short.sources.close();
    }
  },
});

const app = express();
let router: MonitorRouter | null = null;
let unexpected: unknown[] = [];

const ask = (path: string) => inject(app, { method: 'GET', url: path, headers: {} });

/** A cursor as the router writes it. */
const cursorOf = (kind: string, parts: unknown): string =>
  Buffer.from(`${kind}1${JSON.stringify(parts)}`).toString('base64url');

const POSITION = [
  'list',
  1_790_000_000_000,
  'task-0005',
  'walk1[[1790000000000,"task-0005"],["wait",3,"a"]]',
];

const ASKED = [
  ...['/api/tasks/?cursor=', '/api/tasks/?limit=5&since=', '/api/tasks/?limit=5&until='],
  ...['/api/events/latest/?since=', '/api/tasks/task-0001/graph/updates/?since='],
];

/** A place in a list, or a time. */
const place = fc.oneof(
  { weight: 8, arbitrary: fc.oneof(text, number.map(String)) },
  { weight: 4, arbitrary: bytes },
  { weight: 8, arbitrary: mutated(['2026-11-21T02:00:00.000Z', 'g1.abc.view.42', '1763690400.5']) },
  {
    weight: 8,
    arbitrary: fc
      .tuple(fc.constantFrom('tasks', 'graph', 'events'), fc.oneof(misfit([POSITION]), anyValue))
      .map(([kind, parts]) => cursorOf(kind, parts)),
  },
  { weight: 4, arbitrary: mutated([cursorOf('tasks', POSITION), cursorOf('graph', ['a', 'b', 1])]) },
  { weight: 1, arbitrary: longText(12_000) },
);

export const tokenTarget = defineTarget({
  name: 'cursors and times of clients',
  share: 120,
  covers: ['cursor.ts', 'routes/tasks.ts', 'http/parameter.ts', 'graph/graph-tracker.ts'],
  inputs: fc.tuple(fc.constantFrom(...ASKED), place),
  async open() {
    unexpected = [];
    const { sources } = createShop();
    router = createMonitorRouter({ sources, authorize: false, dashboard: false });
    app.use(router);
    app.use(((error, _request, response, _next) => {
      unexpected.push(error);
      response.status(500).end();
    }) satisfies ErrorRequestHandler);
    const { next_cursor } = JSON.parse((await ask('/api/tasks/?limit=5')).text);
    expect(Buffer.from(next_cursor, 'base64url').toString()).toMatch(/^tasks1\[/);
  },
  async close() {
    await router?.close();
  },
  async check([path, given]) {
    const url = path + encodeURIComponent(Buffer.from(given).toString());
    const answer = await ask(url);
    expect(unexpected).toEqual([]);
    expect([200, 400]).toContain(answer.status);
    // Seconds behind the last moment of a Date are no time.
    if (/(?:since|until)=$/.test(path) && Math.abs(Number(given)) > 8.64e12) expect(answer.status).toBe(400);
    checkResponse('GET', url, answer);
  },
});

const MESSAGES = [
  'id: 1\ndata: {"events":[]}\n\n',
  ': comment\n\n',
  'retry: 2000\r\n',
  'data: {"a":\rdata: "é💣"}\r\r',
  'id\r\ndata:[1,\r\ndata:  2]\r\n\r\n',
];

/** Each piece takes a while. */
const LONGEST_CUT = 200;

export const streamTarget = defineTarget({
  name: 'server-sent events in the client',
  share: 50,
  covers: ['client/watch.ts'],
  inputs: fc.array(
    fc.oneof(
      text,
      mutated(MESSAGES),
      fc.constantFrom(...MESSAGES),
      anyValue.map((value) => `data: ${JSON.stringify(value)}\n\n`),
    ),
    { maxLength: 8 },
  ),
  async check(chunks) {
    const all = Buffer.from(chunks.join(''));
    const whole = await heardIn([all]);
    // However the bytes are cut, they say the same: in two, and into as many pieces as there are bytes.
    const middle = Math.floor(all.length / 2);
    expect(await heardIn([all.subarray(0, middle), all.subarray(middle)])).toEqual(whole);
    if (all.length <= LONGEST_CUT)
      expect(await heardIn(Array.from(all, (byte) => Buffer.of(byte)))).toEqual(whole);
  },
});

/** What a client hears in a stream of these chunks: bodies, and the failure that ends it. */
async function heardIn(chunks: readonly Uint8Array[]): Promise<unknown[]> {
  const over = new AbortController();
  const left = [...chunks];
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const chunk = left.shift();
      if (chunk !== undefined) return controller.enqueue(chunk);
      controller.close();
      // Once all is read, the client pauses before it asks again.
      setImmediate(() => over.abort());
    },
  });
  const headers = { 'content-type': 'text/event-stream' };
  const client = createMonitorClient('http://127.0.0.1/', {
    fetch: async () => new Response(body, { headers }),
  });
  const heard: unknown[] = [];
  const onRetry = (error: unknown): void => {
    heard.push(String(error));
    over.abort();
  };
  for await (const item of client.watchEvents({}, { signal: over.signal, onRetry })) heard.push(item);
  return heard;
}
