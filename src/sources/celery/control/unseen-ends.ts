/** Finds tasks that no worker has any more although no message reported their end. */
import { isTaken } from '../../../history/changes.ts';
import type { CollectedHistory, OpenTask } from '../../../history/history.ts';
import type { Running } from './running.ts';

/** How long a task must have been without messages before its worker is asked about it, in milliseconds. */
const SETTLED_MS = 15_000;
/** How long at least passes between the two replies that prove an end: an event may be late. */
const APART_MS = 5_000;
/** For how long a task that its worker still has is not asked about again; doubles each time. */
const FIRST_WAIT_MS = 20_000;
const LONGEST_WAIT_MS = 300_000;
/** Most open tasks to examine at once. */
const MAX_OPEN = 5_000;

/** Parameters of the decision. */
export interface UnseenEndsOptions {
  readonly history: CollectedHistory;
  /** Whether a message of this task is in a queue or unacknowledged; `null` when unknown. */
  readonly isQueued: (id: string) => boolean | null;
  /** Looks up stored results and records them. */
  readonly lookUp: (ids: string[]) => Promise<unknown>;
  /** Whether events have arrived that are not recorded yet. */
  readonly isBehind: () => boolean;
}

/** Finds such tasks in what workers report about what they run. */
export interface UnseenEnds {
  /** Tasks that the next reply is to be compared with. To be called before the workers are asked. */
  candidates(): readonly OpenTask[];
  /** Whether it is time to ask about any of them. */
  isDue(candidates: readonly OpenTask[]): boolean;
  /** Records the tasks of which a second reply proves that they have ended. */
  compare(candidates: readonly OpenTask[], reply: Running): Promise<void>;
}

/** A task that its worker did not report the first time. */
interface Absence {
  readonly task: OpenTask;
  /** When the worker was asked, milliseconds since 1970. */
  readonly askedAt: number;
}

interface State {
  readonly options: UnseenEndsOptions;
  readonly absent: Map<string, Absence>;
  /** When to ask again about tasks that their workers have. */
  readonly waits: Map<string, { readonly until: number; readonly ms: number }>;
}

/**
 * A task has ended unobserved when the worker that took it has answered twice, some seconds apart, that it does not run
 * it, without any message of the task in between, and there is no stored result. For a task that waits for a retry, the
 * worker of the next attempt is unknown: all workers have answered, and its message is in no queue.
 */
export function createUnseenEnds(options: UnseenEndsOptions): UnseenEnds {
  const state: State = { options, absent: new Map(), waits: new Map() };
  return {
    candidates: () => candidatesOf(state),
    isDue: (candidates) => {
      const now = performance.now();
      return candidates.some(({ id }) => !((state.waits.get(id)?.until ?? 0) > now));
    },
    compare: (candidates, reply) => compare(state, candidates, reply),
  };
}

function candidatesOf({ options: { history, isQueued }, absent, waits }: State): readonly OpenTask[] {
  const settled = Date.now() - SETTLED_MS;
  const open = history.index.listOpen(MAX_OPEN);
  const candidates = open.filter((task) => {
    const { id, state, worker, heardAt } = task;
    if (heardAt >= settled) return false;
    if (state === 'RETRY') return isQueued(id) === false;
    if (worker === null || !isTaken(state)) return false;
    // The message of a task that a worker holds back is unacknowledged.
    return state === 'RECEIVED' ? isQueued(id) === false : isQueued(id) !== true;
  });
  keepOnly(absent, candidates);
  // A reply that has a task counts as news of it, after which it is no candidate for a while.
  keepOnly(waits, open);
  return candidates;
}

function keepOnly(map: Map<string, unknown>, tasks: readonly OpenTask[]): void {
  const ids = new Set(tasks.map(({ id }) => id));
  for (const id of map.keys()) if (!ids.has(id)) map.delete(id);
}

async function compare(
  state: State,
  candidates: readonly OpenTask[],
  { tasks, reporters, complete, askedAt }: Running,
): Promise<void> {
  const { absent } = state;
  const ended: OpenTask[] = [];
  for (const task of candidates) {
    const { id, worker } = task;
    const hasAnswered =
      task.state === 'RETRY' ? complete.includes('active') : worker !== null && reporters.has(worker);
    if (tasks.has(id) || !hasAnswered) {
      absent.delete(id);
      wait(state, id);
      continue;
    }
    const before = absent.get(id);
    if (before === undefined || !isUnchanged(before.task, task)) absent.set(id, { task, askedAt });
    else if (askedAt - before.askedAt >= APART_MS) ended.push(task);
  }
  if (ended.length > 0) await record(state, ended);
}

function wait({ waits }: State, id: string): void {
  const now = performance.now();
  const before = waits.get(id);
  if (before !== undefined && before.until > now) return;
  const ms = Math.min((before?.ms ?? FIRST_WAIT_MS / 2) * 2, LONGEST_WAIT_MS);
  waits.set(id, { until: now + ms, ms });
}

async function record(state: State, ended: readonly OpenTask[]): Promise<void> {
  const { history, isQueued, lookUp, isBehind } = state.options;
  await lookUp(ended.map(({ id }) => id));
  if (isBehind()) return;
  for (const task of ended) {
    const now = history.index.openTask(task.id);
    if (now === null || !isUnchanged(task, now)) continue;
    // Its process is gone, so that the task did not end: it is lost.
    if (history.index.isLost(now)) {
      state.absent.delete(task.id);
      wait(state, task.id);
      continue;
    }
    const queued = isQueued(task.id);
    if (queued === true || (task.state === 'RETRY' && queued === null)) continue;
    history.writer.recordEndUnseen(task.id, true);
  }
}

/** Whether no message has changed a task since. */
function isUnchanged(before: OpenTask, now: OpenTask): boolean {
  return before.state === now.state && before.worker === now.worker && before.timestamp === now.timestamp;
}
