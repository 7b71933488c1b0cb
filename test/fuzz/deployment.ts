/**
 * A deployment with three tasks of which everything is known, told to the Celery source beside whatever a target
 * makes up: nothing that is said of other tasks may change a word of theirs.
 */
import { expect, vi } from 'vitest';
import type { CelerySettings, CelerySources } from '../../src/celery.ts';
import { createRedactor } from '../../src/redact.ts';
import { createSerializer } from '../../src/serialize.ts';
import type { Mailbox } from '../../src/sources/celery/broker.ts';
import { createCelerySource } from '../../src/sources/celery/celery-source.ts';
import type { PublishedHandlers } from '../../src/sources/celery/result-backend.ts';
import { createArrayBroker } from '../celery/array-broker.ts';
import { createArrayResultBackend } from '../celery/array-result-backend.ts';
import { buildGraph } from '../graph/graph-kit.ts';
import { queryOf } from '../helpers/bullmq-read.ts';
import { componentOf, context } from '../helpers/celery-events.ts';
import { checkBody } from '../helpers/openapi-check.ts';
import { until } from '../helpers/redis-server.ts';

/** The time by which all of it happens, in milliseconds since 1970. */
export const NOW = Date.UTC(2026, 10, 21, 3);

/** Until it is called again, nothing is read or asked unless a target lets time pass. */
export function holdClock(): void {
  vi.useFakeTimers({
    now: NOW,
    toFake: ['Date', 'setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'],
  });
}

/** Where a target tells of tasks. */
export interface Deployment {
  readonly sources: CelerySources;
  hear(event: object): unknown;
  publish(result: string, id: string): unknown;
}

/** A deployment made of arrays. */
export interface Plain extends Deployment {
  readonly results: Pick<PublishedHandlers, 'task' | 'group'>;
  /** An event, or an array of them: what a message has as its body. */
  hear(body: unknown): void;
}

/** What a source has without a server. */
export interface PlainOptions {
  readonly settings?: CelerySettings;
  readonly control?: Mailbox | null;
  /** Results that are stored, by the id of their task. */
  readonly stored?: readonly (readonly [text: string, id: string])[];
  /** Longest text of one stored value. */
  readonly maxValueLength?: number;
}

/** The recordings are older than a history keeps tasks. */
export const RETENTION = { taskDays: 36_500, maxTasks: 1_000 };

/** A source whose broker and result backend are arrays. */
export function openPlain({
  settings = {},
  control = null,
  stored = [],
  ...limits
}: PlainOptions = {}): Plain {
  // What waits in queues is read from a real Redis, see `celery-redis.ts`.
  const broker = { ...createArrayBroker({ events: [], waiting: [], workers: {} }), control, queues: null };
  const tasks = stored.map(([text, id]) => ({ text, id, isCut: false }));
  const backend = createArrayResultBackend({ published: [], tasks, groups: [] });
  const sources = createCelerySource({
    ...{ name: 'fuzz', settings, broker, backend, foreignBroker: null, foreignBackend: null, django: null },
    redbeat: { reader: null, unreadable: null },
    ...{ control: control !== null, enableEvents: false, readResults: true },
    retention: { ...RETENTION, ...limits },
    closeConnections: async () => {},
  });
  const results = backend.listener();
  if (results === null) throw new Error('Nobody listens to results.');
  return { sources, results, hear: broker.deliver, publish: results.task };
}

const WORKER = { hostname: 'good@host', pid: 4_242 };
const DONE = 'good-task-that-is-done';
const RUNNING = 'good-task-that-runs';
const STORED = 'good-task-of-which-only-the-result-is-known';

function event(type: string, uuid: string, seconds: number, more: object = {}): object {
  const timestamp = NOW / 1_000 - 60 + seconds;
  return { type, uuid, ...WORKER, timestamp, utcoffset: 0, clock: 1, ...more };
}

function received(uuid: string, seconds: number): object {
  return event('task-received', uuid, seconds, {
    ...{ name: 'good.task', args: "(1, 'two')", kwargs: '{}', retries: 0, root_id: uuid, parent_id: null },
  });
}

function resultOf(id: string): string {
  const meta = { status: 'SUCCESS', result: { a: 1 }, traceback: null, children: [], task_id: id };
  return JSON.stringify({ ...meta, date_done: '2026-11-21T02:59:04.000000' });
}

async function tellFirstHalf({ hear }: Deployment): Promise<void> {
  for (const each of [received(DONE, 1), event('task-started', DONE, 2), received(RUNNING, 3)])
    await hear(each);
}

async function tellSecondHalf({ hear, publish }: Deployment): Promise<void> {
  await publish(resultOf(DONE), DONE);
  await publish(resultOf(STORED), STORED);
  await hear(event('task-succeeded', DONE, 4, { result: "{'a': 1}", runtime: 1.5 }));
  await hear(event('task-started', RUNNING, 5));
}

/** Whether everything that was told before has been heard: over each way, this comes last. */
async function isHeard({ sources }: Deployment): Promise<boolean> {
  const [running, stored] = await Promise.all(
    [RUNNING, STORED].map((id) => sources.tasks.getTask(id, context)),
  );
  return running?.state === 'STARTED' && stored?.state === 'SUCCESS';
}

export const serializer = createSerializer({ redactor: createRedactor() });

/** What is shown of the good tasks. */
async function goodRows({ tasks }: CelerySources): Promise<string> {
  const details = await Promise.all([DONE, RUNNING, STORED].map((id) => tasks.getTask(id, context)));
  return JSON.stringify(details.map((detail) => detail && serializer.taskDetail(detail, 'fuzz')));
}

/**
 * Tells of the good tasks, and in between whatever else; then every row must be one that the API
 * describes, and each id must be listed once.
 *
 * @returns what is shown of the good tasks
 */
export async function tellAmid<Told extends Deployment>(
  deployment: Told,
  tell: (deployment: Told) => unknown,
): Promise<string> {
  try {
    await tellFirstHalf(deployment);
    await tell(deployment);
    await tellSecondHalf(deployment);
    await until(() => isHeard(deployment));
    await checkLists(deployment.sources);
    return await goodRows(deployment.sources);
  } finally {
    await deployment.sources.close();
  }
}

let expected: Promise<string> | null = null;

/** The good tasks must be what they are without the others. */
export async function tellAmidGood(tell: (plain: Plain) => unknown, options?: PlainOptions): Promise<void> {
  expected ??= tellAmid(openPlain(), () => {});
  expect(await tellAmid(openPlain(options), tell)).toBe(await expected);
}

/** What the history has dropped was refused where it was read: nothing was thrown on the way. */
export async function expectAllRefused(sources: CelerySources): Promise<void> {
  const { dropped } = await sources.history.getHistoryStats(context);
  expect((await componentOf(sources, 'collector')).config.dropped).toBe(dropped);
}

/** Rows whose detail, tree and graph are looked at as well. */
const MOST_DETAILS = 5;

async function checkLists(sources: CelerySources): Promise<void> {
  const { tasks, total } = await sources.tasks.listTasks(queryOf({ limit: 2_000 }), context);
  const ids = new Set(tasks.map(({ id }) => id));
  expect(ids.size).toBe(tasks.length);
  // `null`: a queue could not be read to its end.
  expect([tasks.length, null]).toContain(total);
  for (const task of tasks) checkBody('TaskBody', serializer.taskRow(task, 'fuzz'));
  for (const { id } of tasks.slice(0, MOST_DETAILS)) await checkTask(sources, id);
  const now = new Date(NOW);
  for (const worker of await sources.workers.listWorkers(context)) {
    checkBody('WorkerBody', serializer.worker(worker, 'fuzz', now));
  }
  const wanted = { limit: 1_000, since: null, states: [], workers: [], tasks: [] };
  const { events } = await sources.events.listEvents(wanted, context);
  expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
  for (const item of events) checkBody('EventBody', serializer.event(item));
  const stats = await sources.tasks.getTaskStats?.({ minutes: 60, now, filter: queryOf() }, context);
  if (stats !== undefined) checkBody('TaskStatsBody', { ...serializer.stats(stats), markers: [] });
}

async function checkTask({ tasks }: CelerySources, id: string): Promise<void> {
  const detail = await tasks.getTask(id, context);
  const shown = detail && serializer.taskDetail(detail, 'fuzz');
  checkBody('TaskDetailBody', { ...shown, waiting_for: null, links: [], sources: [] });
  const tree = (await tasks.getTaskTree?.(id, context)) ?? null;
  expect(tree).not.toBeNull();
  if (tree === null) return;
  const graph = buildGraph(tree, id, 5_000);
  const nodes = graph.nodes.map((node) => serializer.graphNode(node));
  const edges = graph.edges.map((edge) => serializer.graphEdge(edge));
  const known = new Set(nodes.map((node) => node.id));
  // Half a character reads U+FFFD on the wire.
  expect([known.size, known.has(Buffer.from(id).toString())]).toEqual([nodes.length, true]);
  for (const node of nodes) checkBody('GraphNodeBody', node);
  for (const edge of edges) {
    checkBody('GraphEdgeBody', edge);
    const isSound = known.has(edge.source) && known.has(edge.target) && edge.source !== edge.target;
    if (!isSound) throw new Error(`The edge ${edge.id} has no two ends.`);
  }
}
