/**
 * Asks the backend about open tasks without recent messages. Final events get lost, most often by worker pools of
 * threads, and so do results that are published without a subscriber.
 */
import { createHash } from 'node:crypto';
import type { OpenTask } from '../../../history/history.ts';
import type { StoredValue } from '../result-backend.ts';
import { type ResultIntake, takeResults } from './result-intake.ts';

/** All in milliseconds. */
const INTERVAL = 1_000;
/** A task is asked about after this much silence, then each time its silence has doubled … */
const FIRST_SILENCE = 2_000;
/** … and at least this often. */
const LONGEST_WAIT = 60_000;
/** Most tasks asked about at once. */
const BATCH = 500;
/** Most open tasks to watch; those with the oldest messages come first. */
const MAX_TASKS = 20_000;

/** Watches the tasks that have not ended. */
export interface Reconciler {
  start(): void;
  /** Looks up all of them at once, since something may have been missed. */
  askAll(): void;
}

/** An open task and when to ask about it. Milliseconds since 1970. */
interface Watched {
  /** Time of its last message in the history. */
  readonly heardAt: number;
  dueAt: number;
  /** Digest of the stored value that was last recorded. */
  digest: string | null;
}

interface State {
  readonly intake: ResultIntake;
  readonly isWaiting: (id: string) => boolean;
  readonly signal: AbortSignal;
  watched: Map<string, Watched>;
  isRunning: boolean;
  isAllWanted: boolean;
}

/**
 * @param isWaiting whether a queue holds the message of a task, so that it has no result yet
 * @param signal ends it
 */
export function createReconciler(
  intake: ResultIntake,
  isWaiting: (id: string) => boolean,
  signal: AbortSignal,
): Reconciler {
  const watched = new Map<string, Watched>();
  const state: State = { intake, isWaiting, signal, watched, isRunning: false, isAllWanted: false };

  return {
    start() {
      const timer = setInterval(() => void run(state), INTERVAL).unref();
      signal.addEventListener('abort', () => clearInterval(timer), { once: true });
    },
    askAll() {
      state.isAllWanted = true;
      void run(state);
    },
  };
}

async function run(state: State): Promise<void> {
  if (state.isRunning || state.signal.aborted) return;
  const all = state.isAllWanted;
  state.isRunning = true;
  state.isAllWanted = false;
  try {
    const due = dueTasks(state, all);
    const count = all ? due.length : Math.min(due.length, BATCH);
    for (let at = 0; at < count; at += BATCH) await askAbout(state, due.slice(at, at + BATCH));
  } catch {
    // The backend is unreachable. The next run tries again.
    state.isAllWanted ||= all;
  } finally {
    state.isRunning = false;
  }
}

/** The tasks to ask about, those that most likely have ended first. */
function dueTasks(state: State, all: boolean): string[] {
  const { intake, isWaiting } = state;
  const now = Date.now();
  const limit = all ? MAX_TASKS : Math.min(MAX_TASKS, state.watched.size + BATCH);
  const open = intake.history.index.listOpen(limit);
  const before = state.watched;
  state.watched = new Map(open.map((task) => [task.id, watch(task, before.get(task.id))]));
  const due = open.filter(({ id }) => all || (state.watched.get(id)?.dueAt ?? 0) <= now);
  const taken = due.filter((task) => task.state !== 'PENDING');
  const waiting = due.filter((task) => task.state === 'PENDING' && (all || !isWaiting(task.id)));
  return [...taken, ...waiting].map(({ id }) => id);
}

function watch({ heardAt }: OpenTask, known: Watched | undefined): Watched {
  if (known?.heardAt === heardAt) return known;
  return { heardAt, dueAt: heardAt + FIRST_SILENCE, digest: known?.digest ?? null };
}

async function askAbout({ intake, signal, watched }: State, ids: readonly string[]): Promise<void> {
  for await (const values of intake.stored.find(ids, signal)) {
    const changed = values.filter((value) => hasChanged(watched.get(value.id), value));
    await takeResults(intake, changed);
  }
  const now = Date.now();
  for (const id of ids) {
    const task = watched.get(id);
    if (task === undefined) continue;
    const silence = now - task.heardAt;
    task.dueAt = now + Math.min(Math.max(silence, FIRST_SILENCE), LONGEST_WAIT);
  }
}

/** Whether a value is new. Recording the same value again would count as a change. */
function hasChanged(task: Watched | undefined, { text }: StoredValue): boolean {
  const digest = createHash('md5').update(text).digest('base64');
  if (task === undefined || task.digest === digest) return false;
  task.digest = digest;
  return true;
}
