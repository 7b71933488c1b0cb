/**
 * Reports a deployment, twice a second, to the instances that do not collect: a short status each time, everything else
 * if it has changed.
 */
import type { TaskFacts } from '../../../history/history.ts';
import type { SharedTexts } from '../../../history/stored-history.ts';
import type { HealthCheck, Task, TaskTextField } from '../../../model.ts';
import { type Steps, scheduler } from '../../../scheduler.ts';
import type { ReadContext, SourceStatus } from '../../../source.ts';
import type { CeleryParts, Deployment } from '../answers.ts';
import type { WaitingMessage } from '../broker.ts';
import type { Freshness } from '../collector.ts';
import { problemOf } from '../hint.ts';
import type { Waiting } from '../queues/waiting-tasks.ts';
import { type HealthReport, KINDS, type StatusReport, type WaitingReport, writeReport } from './reports.ts';

const INTERVAL_MS = 500;
/** How often broker and result backend are checked, in milliseconds; also when the connection is lost or made. */
const CHECK_MS = 15_000;
/** How often the workers are asked for data that only they have, in milliseconds. */
const ASK_MS = 60_000;
/** Most time for one report, in milliseconds. */
const LONGEST_MS = 5_000;
/** Most queues, and most schedules. */
const MOST_ROWS = 5_000;

/** What to report, and where. */
interface PublisherOptions {
  readonly deployment: Deployment;
  readonly parts: Pick<CeleryParts, 'queues' | 'schedules' | 'components' | 'health' | 'workers'>;
  readonly texts: SharedTexts;
  /** Name of the collecting instance, for people. */
  readonly leader: string;
  /** The last status of the instance that collected before; `null`: none. */
  readonly before: StatusReport | null;
}

type Kind = keyof typeof KINDS;

/** What is reported of broker and backend. */
type Checks = Pick<HealthReport, 'broker' | 'backend'>;

interface State extends PublisherOptions {
  /** What was published last, by kind. */
  readonly published: Map<Kind, string>;
  readonly busy: Set<Kind>;
  readonly startedAt: number;
  /** When the workers were last asked; monotonic, in milliseconds. */
  askedAt: number;
  /** The last checks of broker and backend, and when they were begun; monotonic, in milliseconds. */
  checks: { readonly isUp: boolean; readonly at: number; readonly results: Promise<Checks> } | null;
  /** When the last checks were made that succeeded or failed, milliseconds since 1970. */
  checkedAt: number | null;
  waitingRevision: number | null;
}

/** Begins at once. */
export function createPublisher(options: PublisherOptions) {
  const state: State = {
    ...options,
    published: new Map(),
    busy: new Set(),
    startedAt: Date.now(),
    askedAt: Number.NEGATIVE_INFINITY,
    checks: null,
    checkedAt: null,
    waitingRevision: null,
  };
  const timer = setInterval(() => publishAll(state), INTERVAL_MS).unref();
  publishAll(state);
  return { close: () => clearInterval(timer) };
}

function publishAll(state: State): void {
  const { parts } = state;
  publish(state, 'status', statusOf(state));
  if (performance.now() - state.askedAt >= ASK_MS) {
    state.askedAt = performance.now();
    // Makes the source ask the workers.
    parts.workers.status?.();
  }
  void report(state, 'queues', async (context) => {
    const rows = await parts.queues.listQueues(context);
    // The time is part of the status: all else rarely changes.
    return rows.slice(0, MOST_ROWS).map(({ asOf: _, ...row }) => row);
  });
  void report(state, 'schedules', async (context) => schedulesOf(state, context));
  void report(state, 'components', async (context) => parts.components.listComponents(context));
  void report(state, 'health', (context) => healthOf(state, context));
  const { waiting } = state.deployment;
  const revision = waiting?.revision() ?? null;
  if (waiting === null || revision === state.waitingRevision) return;
  void report(state, 'waiting', async () => {
    const messages = await scheduler.run('publish', waitingReport(waiting));
    state.waitingRevision = revision;
    return messages;
  });
}

/** Publishes what `read` returns, unless the last report of this kind is still being made. */
async function report(
  state: State,
  kind: Kind,
  read: (context: ReadContext) => Promise<unknown>,
): Promise<void> {
  if (state.busy.has(kind)) return;
  state.busy.add(kind);
  try {
    publish(state, kind, await read({ signal: AbortSignal.timeout(LONGEST_MS) }));
  } catch {
    // The status reports data that cannot be read; its last report stays.
  } finally {
    state.busy.delete(kind);
  }
}

function publish({ published, texts }: State, kind: Kind, value: unknown): void {
  const text = writeReport(value);
  if (published.get(kind) === text) return;
  published.set(kind, text);
  texts.publish(KINDS[kind], text);
}

/** Until the broker has been reached, the data is as old as that of the previous collector. */
function statusOf({ deployment, parts, leader, before, startedAt, checkedAt }: State): StatusReport {
  const since = (now: Freshness, last: Freshness | undefined): Freshness => ({
    ...now,
    asOf: now.asOf ?? last?.asOf ?? null,
  });
  return {
    at: Date.now(),
    leader,
    since: startedAt,
    tasks: since(deployment.status(), before?.tasks),
    workers: since(deployment.workerStatus(), before?.workers),
    queues: since(partStatus(parts.queues.status?.()), before?.queues),
    schedules: since(partStatus(parts.schedules.status?.()), before?.schedules),
    sight: deployment.sight(),
    checkedAt,
  };
}

function partStatus(status: SourceStatus = { ok: true, asOf: new Date() }): Freshness {
  const { ok, asOf, error = null, reason = null } = status;
  return { ok, asOf, error, reason };
}

async function schedulesOf({ parts }: State, context: ReadContext): Promise<unknown> {
  try {
    const list = await parts.schedules.listSchedules(context);
    return { list: list?.slice(0, MOST_ROWS) ?? null, error: null };
  } catch (error) {
    return { list: null, error: problemOf(error).sentence };
  }
}

const NOT_CONFIGURED: HealthCheck = { ok: null, error: null };

async function healthOf(state: State, context: ReadContext): Promise<HealthReport> {
  const { health } = state.parts;
  const [checks, workers] = await Promise.all([
    checksOf(state, context),
    // Their heartbeats are known here.
    health.checkWorkers?.({ ...context, ping: false }) ?? { ...NOT_CONFIGURED, responding: [], missing: [] },
  ]);
  return { ...checks, workers };
}

/** Each check costs the broker a channel or commands, so the last ones are reported for a while. */
function checksOf(state: State, context: ReadContext): Promise<Checks> {
  const { checks, deployment } = state;
  const isUp = deployment.status().ok;
  const isRecent = checks?.isUp === isUp && performance.now() - checks.at < CHECK_MS;
  if (checks !== null && isRecent) return checks.results;
  const results = check(state, context);
  state.checks = { isUp, at: performance.now(), results };
  results.catch(() => {
    state.checks = null;
  });
  return results;
}

async function check(state: State, context: ReadContext): Promise<Checks> {
  const { health } = state.parts;
  const [broker, backend] = await Promise.all([
    health.checkBroker?.(context) ?? NOT_CONFIGURED,
    health.checkBackend?.(context) ?? NOT_CONFIGURED,
  ]);
  state.checkedAt = Date.now();
  return { broker, backend };
}

/** Most messages, most characters of all of them together (estimated), and of one text. */
const MOST_MESSAGES = 1_000;
const MOST_CHARACTERS = 500_000;
const LONGEST_TEXT = 2_048;
/** Approximate size of a message without its texts. */
const MESSAGE_CHARACTERS = 400;
const RELATION_CHARACTERS = 120;

/** Takes the messages that run next. */
function* waitingReport(waiting: Waiting): Steps<WaitingReport> {
  const all = waiting.held();
  const known = (all ?? waiting.index()).messages;
  const messages: WaitingMessage[] = [];
  let isRedacted = false;
  let characters = 0;
  for (const message of known.slice(0, MOST_MESSAGES)) {
    const task = waiting.rows.row(message);
    if (task === null) continue;
    isRedacted = task.redacted === true;
    const kept = keptMessage(message, task);
    characters += sizeOf(kept);
    if (characters > MOST_CHARACTERS) break;
    messages.push(kept);
    yield;
  }
  return { messages, isComplete: all !== null && messages.length === known.length, isRedacted };
}

function keptMessage(message: WaitingMessage, task: Task): WaitingMessage {
  const args = cut(task.args);
  const kwargs = cut(task.kwargs);
  const truncated = new Set<TaskTextField>(message.facts?.truncated ?? []);
  if (args.isCut) truncated.add('args');
  if (kwargs.isCut) truncated.add('kwargs');
  const facts = { ...message.facts, id: task.id, args: args.text, kwargs: kwargs.text, stamps: task.stamps };
  return { ...message, facts: { ...facts, truncated: [...truncated] } as TaskFacts };
}

function cut(value: unknown): { readonly text: string | null; readonly isCut: boolean } {
  if (typeof value !== 'string') return { text: null, isCut: false };
  const isCut = value.length > LONGEST_TEXT;
  return { text: isCut ? value.slice(0, LONGEST_TEXT) : value, isCut };
}

function sizeOf({ facts, relations }: WaitingMessage): number {
  const texts = (facts?.args?.length ?? 0) + (facts?.kwargs?.length ?? 0);
  return MESSAGE_CHARACTERS + texts + relations.length * RELATION_CHARACTERS;
}
