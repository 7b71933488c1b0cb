/**
 * A deployment with two tasks of which everything is known, told to the library beside whatever a target
 * makes up: nothing that is said of other tasks may change a word of theirs.
 */
import { expect } from 'vitest';
import type { History } from '../../src/history/history.ts';
import { createMemoryHistory } from '../../src/history/memory-history.ts';
import { createRedactor } from '../../src/redact.ts';
import { createSerializer } from '../../src/serialize.ts';
import type { WaitingMessage } from '../../src/sources/celery/broker.ts';
import { deliverMessage } from '../../src/sources/celery/brokers/redis/events.ts';
import { createIntake, type Intake } from '../../src/sources/celery/intake.ts';
import { createLineage, type Lineage } from '../../src/sources/celery/lineage/lineage.ts';
import { decodeTaken, decodeWaiting } from '../../src/sources/celery/protocol/queue-message.ts';
import { createMessageIntake, type MessageIntake } from '../../src/sources/celery/queues/message-intake.ts';
import { tagOf } from '../../src/sources/celery/queues/waiting-message.ts';
import { buildGraph } from '../graph/graph-kit.ts';
import { queryOf } from '../helpers/bullmq-read.ts';
import { context, eventMessage } from '../helpers/celery-events.ts';
import { checkBody } from '../helpers/openapi-check.ts';
import { base64 } from './inputs.ts';

/** What hears of the deployment, wired as the Celery source wires it. */
export interface Ears {
  readonly history: History;
  readonly lineage: Lineage;
  /** Events and results. */
  readonly intake: Intake;
  /** Messages in queues and with workers. */
  readonly queues: MessageIntake;
}

/** The time by which all of it happens, in seconds since 1970. */
const NOW = Date.UTC(2026, 10, 21, 3) / 1_000;
/** Longest text made of one stored value. */
const VALUE_LENGTH = 65_536;

function listen(): Ears {
  // The recordings are older than a history keeps tasks.
  const history = createMemoryHistory({
    now: () => NOW * 1_000,
    maxAgeMs: 100 * 365 * 86_400_000,
    maxTasks: 1_000,
  });
  const lineage = createLineage(history);
  const intake = createIntake(
    history.writer,
    { ...lineage, worker() {}, unreadableEvent() {}, unreadableResult() {} },
    VALUE_LENGTH,
  );
  return { history, lineage, intake, queues: createMessageIntake(history, lineage) };
}

const WORKER = { hostname: 'good@host', pid: 4_242 };
const DONE = 'good-task-that-is-done';
const RUNNING = 'good-task-that-runs';

function event(type: string, uuid: string, seconds: number, more: object = {}): string {
  return eventMessage({
    type,
    uuid,
    ...WORKER,
    timestamp: NOW - 60 + seconds,
    utcoffset: 0,
    clock: 1,
    ...more,
  });
}

function received(uuid: string, seconds: number): string {
  return event('task-received', uuid, seconds, {
    ...{ name: 'good.task', args: "(1, 'two')", kwargs: '{}', retries: 0, root_id: uuid, parent_id: null },
  });
}

/** A message in a queue. */
export function takeWaiting(queues: MessageIntake, raw: string, queue: string): WaitingMessage {
  const task = decodeWaiting(raw, queue);
  return queues.take(task, { tag: tagOf(raw, task), part: queue, takenAt: null });
}

/** A message that a worker has taken. */
export function takeTaken(queues: MessageIntake, raw: string, tag: string, score: string): void {
  const takenAt = Number(score);
  queues.take(
    decodeTaken(raw, takenAt * 1000, () => 'good'),
    { tag, part: '', takenAt },
  );
}

function tellFirstHalf({ intake, queues }: Ears): void {
  const plain = { callbacks: null, errbacks: null, chain: null, chord: null };
  takeWaiting(
    queues,
    JSON.stringify({
      body: base64(JSON.stringify([[1, 'two'], {}, plain])),
      'content-type': 'application/json',
      headers: { task: 'good.task', id: RUNNING, root_id: RUNNING, parent_id: null, group: null, retries: 0 },
      properties: { body_encoding: 'base64', delivery_tag: 'good-tag' },
    }),
    'good',
  );
  for (const message of [received(DONE, 1), event('task-started', DONE, 2), received(RUNNING, 3)]) {
    deliverMessage(message, intake.events);
  }
}

function tellSecondHalf({ intake, queues }: Ears): void {
  deliverMessage(event('task-succeeded', DONE, 4, { result: "{'a': 1}", runtime: 1.5 }), intake.events);
  deliverMessage(event('task-started', RUNNING, 5), intake.events);
  const meta = { status: 'SUCCESS', result: { a: 1 }, traceback: null, children: [], task_id: DONE };
  intake.takeResult(JSON.stringify({ ...meta, date_done: '2026-11-21T02:59:04.000000' }), DONE);
  // The message came before the events of its task.
  queues.offerAgain(() => true, 0);
}

const serializer = createSerializer({ redactor: createRedactor() });

/** What is shown of the good tasks. */
async function goodRows(history: History): Promise<string> {
  const details = await Promise.all([DONE, RUNNING].map((id) => history.reader.getTask(id, context)));
  return JSON.stringify(details.map((detail) => detail && serializer.taskDetail(detail, 'fuzz')));
}

async function expectedRows(): Promise<string> {
  const ears = listen();
  tellFirstHalf(ears);
  tellSecondHalf(ears);
  const rows = await goodRows(ears.history);
  ears.history.close();
  return rows;
}

let expected: Promise<string> | null = null;

/** Rows whose detail, tree and graph are looked at as well. */
const MOST_DETAILS = 5;

/**
 * Tells of the good tasks, and in between whatever else; then every row must be one that the API
 * describes, each id must be listed once, and the good tasks must be what they are without the others.
 */
export async function tellAmidGood(tell: (ears: Ears) => void): Promise<void> {
  expected ??= expectedRows();
  const ears = listen();
  const { history } = ears;
  try {
    tellFirstHalf(ears);
    tell(ears);
    tellSecondHalf(ears);
    expect(await goodRows(history)).toBe(await expected);
    await checkLists(history);
  } finally {
    history.close();
  }
}

async function checkLists(history: History): Promise<void> {
  const { tasks, total } = await history.reader.listTasks(queryOf({ limit: 1_000 }), context);
  const ids = new Set(tasks.map(({ id }) => id));
  expect([ids.size, total]).toEqual([tasks.length, tasks.length]);
  for (const task of tasks) checkBody('TaskBody', serializer.taskRow(task, 'fuzz'));
  for (const { id } of tasks.slice(0, MOST_DETAILS)) await checkTask(history, id);
  const now = new Date(NOW * 1_000);
  for (const worker of await history.reader.listWorkers(context)) {
    checkBody('WorkerBody', serializer.worker(worker, 'fuzz', now));
  }
  const wanted = { limit: 1_000, since: null, states: [], workers: [], tasks: [] };
  const { events } = await history.reader.listEvents(wanted, context);
  expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
  for (const item of events) checkBody('EventBody', serializer.event(item));
  const stats = await history.reader.getTaskStats({ minutes: 60, now, filter: queryOf() }, context);
  checkBody('TaskStatsBody', { ...serializer.stats(stats), markers: [] });
}

async function checkTask(history: History, id: string): Promise<void> {
  const detail = await history.reader.getTask(id, context);
  const shown = detail && serializer.taskDetail(detail, 'fuzz');
  checkBody('TaskDetailBody', { ...shown, links: [], sources: [] });
  const tree = await history.reader.getTaskTree(id, context);
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
