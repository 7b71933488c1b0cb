/** Stored results: read at the start, looked up on request, and compared with what events reported. */
import { createHash } from 'node:crypto';
import type { History, OpenTask } from '../../../history/history.ts';
import type { HistorySources } from '../../../history/store-parts.ts';
import type { Redactor } from '../../../redact.ts';
import { pause } from '../../../waiting.ts';
import type { Lineage } from '../lineage/lineage.ts';
import type { PublishedResults, ResultBackend, StoredValue } from '../result-backend.ts';
import type { KeptTasks } from './kept-tasks.ts';
import { createResultScan, type ResultIntake, takeResults } from './result-scan.ts';
import { createFoundTasks, createResultLookup, withTaskLookup } from './task-lookup.ts';

/** How long reading waits for the subscription, and how often it checks whether that has failed, in milliseconds. */
const LONGEST_WAIT_MS = 5_000;
const WAIT_STEP_MS = 50;

/** Reads stored results into a history. */
export type Results = ReturnType<typeof createResults>;

/** Nothing is asked of the backend before `start` or a look-up. */
export function createResults(options: {
  readonly backend: Pick<ResultBackend, 'stored' | 'published'>;
  readonly history: History;
  readonly lineage: Lineage;
  /** Whether the message of a task is seen in a queue. */
  readonly isWaiting: (id: string) => boolean;
  /** Longest text to make of one stored value, in characters. */
  readonly valueLength: number;
  /** Whether to read all stored results, and not only look single ones up. */
  readonly readsStored: boolean;
  /** The content of the store, which is not read again; `null`: there is no store. */
  readonly kept: KeptTasks | null;
  /** Removes secrets from results that are looked up for a client; `null`: they stay as they are. */
  readonly redactor: Redactor | null;
}) {
  const { backend, history, lineage, valueLength, readsStored } = options;
  const { stored, published } = backend;
  const stopping = new AbortController();
  const { signal } = stopping;
  const intake: ResultIntake = { stored, history, lineage, valueLength };
  const scan = createResultScan(intake, options.kept, signal);
  const reconciler = createReconciler(intake, options.isWaiting, signal);
  const found = createFoundTasks(valueLength, options.redactor);
  const lookup = createResultLookup(intake, found.add, signal);
  let started = false;

  function begin(): void {
    if (started || signal.aborted) return;
    started = true;
    if (readsStored) scan.start();
    reconciler.start();
  }

  function onGap(): void {
    if (!started || signal.aborted) return;
    if (readsStored) scan.start();
    reconciler.askAll();
  }

  return {
    /**
     * Begins to read stored results, and to look up tasks that have not ended, once published results arrive or cannot
     * arrive: results stored in between are then either read or received.
     */
    start: () => void listening(published, signal).then(begin),
    /** To be called whenever published results begin to arrive. */
    onListening() {
      // Results that were read before may have been stored again since.
      if (started) onGap();
      else begin();
    },
    /** Reads everything again, since something may have been missed. */
    onGap,
    lookup,
    /** The history's task source, which then looks up what the history does not know. */
    withLookup: (tasks: HistorySources['tasks']) =>
      withTaskLookup(tasks, { reader: history.reader, lineage, lookup, found }),
    /** The progress of reading, and how many commands or queries were sent, those of look-ups included. */
    progress: () => ({ ...scan.progress(), commands: stored.requests() }),
    /** Ends everything; running reads are given up. */
    stop() {
      stopping.abort();
      found.close();
    },
  };
}

/** Resolves once published results arrive, or the first attempt to subscribe has failed. */
async function listening(published: PublishedResults, signal: AbortSignal): Promise<void> {
  const end = performance.now() + LONGEST_WAIT_MS;
  const isTrying = (): boolean => {
    const { up, problem } = published.state();
    return !up && problem === null;
  };
  while (isTrying() && performance.now() < end && !signal.aborted) await pause(WAIT_STEP_MS, signal);
}

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
function createReconciler(intake: ResultIntake, isWaiting: (id: string) => boolean, signal: AbortSignal) {
  const watched = new Map<string, Watched>();
  const state: State = { intake, isWaiting, signal, watched, isRunning: false, isAllWanted: false };

  return {
    start() {
      const timer = setInterval(() => void run(state), INTERVAL).unref();
      signal.addEventListener('abort', () => clearInterval(timer), { once: true });
    },
    /** Looks up all of them at once, since something may have been missed. */
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
