/** What Celery's clients and workers write into Redis, as it is: envelopes, messages in queues, bindings, replies. */
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { expect, vi } from 'vitest';
import { celerySources } from '../../../src/celery.ts';
import { MAILBOX, replyKey, replyTo, SEPARATOR } from '../../celery/control-lab.ts';
import { messageOf } from '../../celery/queues-lab.ts';
import { componentOf, context, eventMessage } from '../../helpers/celery-events.ts';
import { checkBody } from '../../helpers/openapi-check.ts';
import { type RedisServer, redisMissing, startRedis, until } from '../../helpers/redis-server.ts';
import { type Deployment, NOW, RETENTION, serializer, tellAmid } from '../deployment.ts';
import { bytes, longText, number, pythonJson, text } from '../inputs.ts';
import { misfit, mutated } from '../mutations.ts';
import { BATCH, bodyIn, enveloped, hostile, oneEvent, REPLY_VALUES } from '../said.ts';
import { EVENT_MESSAGES, EVENTS, REPLIES, TAKEN, WAITING } from '../seeds.ts';
import { defineTarget } from '../target.ts';

const files = (folder: string, ...names: string[]): string[] =>
  names.map((name) => `sources/celery/${folder}/${name}.ts`);

const eventBody = fc.oneof(
  { weight: 3, arbitrary: oneEvent.map(pythonJson) },
  { weight: 2, arbitrary: fc.array(oneEvent, { maxLength: 5 }).map(pythonJson) },
  { weight: 2, arbitrary: mutated(EVENTS.map((event) => JSON.stringify(event))) },
);
const message = fc.oneof(
  { weight: 1, arbitrary: hostile(EVENT_MESSAGES) },
  { weight: 3, arbitrary: enveloped(eventBody, EVENT_MESSAGES) },
);
const waiting = fc.oneof(
  { weight: 2, arbitrary: hostile(WAITING) },
  { weight: 2, arbitrary: enveloped(hostile(WAITING.map(bodyIn)), WAITING) },
);
const taken = fc.oneof(
  hostile(TAKEN),
  fc.tuple(waiting, text).map(([given, key]) => `[${given},"celery",${JSON.stringify(key)}]`),
);
// kombu's tags are UUIDs and its scores are times. Of an empty tag or an infinite score, the list leaves messages out.
const tag = text.filter((given) => given !== '');
const score = number.filter(Number.isFinite);
const binding = fc.oneof(
  fc.tuple(text, text).map(([pattern, queue]) => [pattern, '', queue].join(SEPARATOR)),
  text,
);
const reply = fc.oneof(
  hostile(REPLIES),
  enveloped(
    fc.oneof(
      { weight: 9, arbitrary: fc.oneof(misfit(REPLY_VALUES).map(pythonJson), bytes) },
      { weight: 1, arbitrary: longText(8_192) },
    ),
    REPLIES,
  ),
);

interface Written {
  readonly messages: readonly string[];
  readonly waiting: readonly (readonly [message: string, queue: string])[];
  readonly taken: readonly (readonly [entry: string, tag: string, score: number])[];
  readonly bindings: readonly string[];
  readonly replies: readonly string[];
}

const NOTHING: Written = { messages: [], waiting: [], taken: [], bindings: [], replies: [] };
const CHANNEL = '/0.celeryev/task.multi';
const WAITS = 'good-task-that-waits';

let server: RedisServer | null = null;
let redis: Redis | null = null;
let worker: Redis | null = null;
let expected: string | null = null;
/** What the worker replies to whatever it is asked, besides what it should. */
let replies: readonly string[] = [];

/** Answers like a worker amid whatever else: what may count as a reply comes behind its own. */
function answer(request: string): void {
  const { ticket, reply_to } = JSON.parse(bodyIn(request)) as {
    readonly ticket: string;
    readonly reply_to: { readonly routing_key: string };
  };
  const others = replies.map((given) => given.replace(/("ticket": ?")[^"]*/, `$1${ticket}`));
  const [whole, broken] = [true, false].map((is) => others.filter((given) => given.endsWith('}') === is));
  const pong = replyTo(ticket, { 'answers@host': { ok: 'pong' } });
  // They are read in the order in which they are pushed.
  void redis?.lpush(replyKey(reply_to.routing_key), ...(broken ?? []), pong, ...(whole ?? []));
}

async function write({ waiting, taken, bindings }: Written): Promise<void> {
  if (redis === null) throw new Error('The target is not open.');
  const pipe = redis.pipeline().flushall().lpush('good', messageOf(WAITS)).lpush('celery', 'one', 'another');
  for (const [raw, queue] of waiting) pipe.lpush(queue, raw);
  for (const [raw, tag, score] of taken) pipe.hset('unacked', tag, raw).zadd('unacked_index', score, tag);
  // The queue of the good task is known by its binding alone.
  pipe.sadd('_kombu.binding.celery', ['good', '', 'good'].join(SEPARATOR), ...bindings);
  const failed = ((await pipe.exec()) ?? []).flatMap(([error]) => error?.message ?? []);
  expect(failed).toEqual([]);
}

/** A source that has read what was written. */
async function open(written: Written): Promise<Deployment> {
  replies = written.replies;
  await write(written);
  const sources = celerySources({
    ...{ broker: server?.url() ?? '', backend: server?.url(1) ?? '', retention: RETENTION },
    settings: { task_queues: written.waiting.map(([, queue]) => queue) },
  });
  await until(() => sources.queues.status?.().ok === true && sources.queues.status().asOf !== null);
  await until(async () => (await componentOf(sources, 'backend')).status === 'up');
  return {
    sources,
    hear: (event) => redis?.publish(CHANNEL, eventMessage(event)),
    publish: (result, id) => redis?.publish(`celery-task-meta-${id}`, result),
  };
}

/** @returns what is shown of the good tasks: two that are heard of, and one that waits */
async function shownOf(written: Written): Promise<string> {
  const deployment = await open(written);
  const { sources } = deployment;
  let waits = '';
  const rows = await tellAmid(deployment, async () => {
    for (const each of written.messages) await redis?.publish(CHANNEL, each);
    const queues = await sources.queues.listQueues(context);
    expect(queues.find(({ name }) => name === 'good')).toMatchObject({ waiting: 1 });
    const { config } = await componentOf(sources, 'broker');
    expect(Number(config.unreadable_messages)).toBeGreaterThanOrEqual(2);
    const task = await sources.tasks.getTask(WAITS, context);
    waits = JSON.stringify(task && serializer.taskDetail(task, 'fuzz'));
    // Nobody has heard of this worker: it responds only if its reply is read.
    const ping = await sources.health.checkWorkers?.({ ...context, ping: true });
    expect(ping?.responding).toContain('answers@host');
    for (const each of await sources.workers.listWorkers(context))
      checkBody('WorkerBody', serializer.worker(each, 'fuzz', new Date(NOW)));
  });
  return rows + waits;
}

export const redisTarget = defineTarget<Written>({
  name: 'Celery in Redis',
  share: 75,
  covers: [
    ...files('protocol', 'message-parts', 'queue-message', 'python-json'),
    ...files('queues', 'queues'),
    ...files('brokers/redis', 'events', 'pidbox', 'queues/queue-names'),
  ],
  missing: redisMissing,
  // It is told over connections: many turns of the event loop, none of which is timed by itself.
  isSlow: true,
  inputs: fc.record({
    messages: fc.array(message, BATCH),
    waiting: fc.array(fc.tuple(waiting, text), BATCH),
    taken: fc.array(fc.tuple(taken, tag, score), BATCH),
    bindings: fc.array(binding, BATCH),
    replies: fc.array(reply, BATCH),
  }),
  casesPerInput: 5 * BATCH.maxLength,
  async open() {
    vi.useFakeTimers({ now: NOW, toFake: ['Date'] });
    server = await startRedis();
    redis = new Redis(server.port, '127.0.0.1');
    worker = new Redis(server.port, '127.0.0.1');
    await worker.subscribe(MAILBOX);
    worker.on('message', (_channel, request) => answer(request));
    expected = await shownOf(NOTHING);
  },
  async close() {
    worker?.disconnect();
    redis?.disconnect();
    await server?.close();
    vi.useRealTimers();
  },
  async check(written) {
    expect(await shownOf(written)).toBe(expected);
  },
});
