/** Stored results: read at the start, looked up on request, and compared with what events reported. */
import type { History } from '../../../history/history.ts';
import type { HistorySources } from '../../../history/store-parts.ts';
import type { Redactor } from '../../../redact.ts';
import { pause } from '../../../waiting.ts';
import type { Lineage } from '../lineage/lineage.ts';
import type { PublishedResults, ResultBackend } from '../result-backend.ts';
import type { KeptTasks } from './kept-tasks.ts';
import { createReconciler } from './reconcile.ts';
import type { ResultIntake } from './result-intake.ts';
import { createResultLookup, type ResultLookup } from './result-lookup.ts';
import { createResultScan, type ScanProgress } from './result-scan.ts';
import { createFoundTasks, withTaskLookup } from './task-lookup.ts';

/** How long reading waits for the subscription, and how often it checks whether that has failed, in milliseconds. */
const LONGEST_WAIT_MS = 5_000;
const WAIT_STEP_MS = 50;

/** Progress of reading, and its cost. */
export interface ResultsProgress extends ScanProgress {
  /** Commands or queries sent so far, those of look-ups included. */
  readonly commands: number;
}

/** Reads stored results into a history. */
export interface Results {
  /**
   * Begins to read stored results, and to look up tasks that have not ended, once published results arrive or cannot
   * arrive: results stored in between are then either read or received.
   */
  start(): void;
  /** To be called whenever published results begin to arrive. */
  onListening(): void;
  /** Reads everything again, since something may have been missed. */
  onGap(): void;
  readonly lookup: ResultLookup;
  /** The history's task source, which then looks up what the history does not know. */
  withLookup(tasks: HistorySources['tasks']): HistorySources['tasks'];
  progress(): ResultsProgress;
  /** Ends everything; running reads are given up. */
  stop(): void;
}

/** Parameters of reading. */
export interface ResultsOptions {
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
}

/** Nothing is asked of the backend before `start` or a look-up. */
export function createResults(options: ResultsOptions): Results {
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
    start: () => void listening(published, signal).then(begin),
    onListening() {
      // Results that were read before may have been stored again since.
      if (started) onGap();
      else begin();
    },
    onGap,
    lookup,
    withLookup: (tasks) => withTaskLookup(tasks, { reader: history.reader, lineage, lookup, found }),
    progress: () => ({ ...scan.progress(), commands: stored.requests() }),
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
