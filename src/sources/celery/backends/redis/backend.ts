/** The result backend: what lies in it is read in, looked up when asked for, and compared with what was heard. */

import type { History } from '../../../../history/history.ts';
import type { HistorySources } from '../../../../history/history-sources.ts';
import type { RedisReader } from '../../../../redis/reader.ts';
import type { Lineage } from '../../lineage/lineage.ts';
import type { CelerySettings } from '../../settings.ts';
import { createDating } from './dating.ts';
import { createReconciler } from './reconcile.ts';
import { resultKeys } from './result-keys.ts';
import { createResultLookup, type ResultLookup } from './result-lookup.ts';
import { createResultScan, type ReadingProgress } from './result-scan.ts';
import { createResultTaker } from './result-taker.ts';
import { createTaskLookup } from './task-lookup.ts';
import { createValueStore } from './value-store.ts';

/** How far reading in has come, and what it took. */
export interface BackendProgress extends ReadingProgress {
  /** Commands sent to Redis so far, those of look-ups included. */
  readonly commands: number;
}

/** Reads a result backend. */
export interface Backend {
  /** Begins to read in what lies there and to ask for tasks that have not ended. */
  start(): void;
  /** Something may have been missed: everything is asked for again. */
  onGap(): void;
  readonly lookup: ResultLookup;
  /** The history's task source, which then looks up what the history does not know. */
  withLookup(tasks: HistorySources['tasks']): HistorySources['tasks'];
  progress(): BackendProgress;
  /** Ends everything; what is under way is given up. */
  stop(): void;
}

/** What a backend needs. */
export interface BackendOptions {
  /** The connection to the backend's database. It is not closed. */
  readonly reader: RedisReader;
  readonly settings: CelerySettings;
  readonly history: History;
  readonly lineage: Lineage;
  /** Longest text to make of one stored value, in characters. */
  readonly valueLength: number;
  /** Whether what is stored is read in, beside what is asked for. Default true. */
  readonly readsStored?: boolean;
}

/** Nothing is asked of Redis before `start` or a look-up. */
export function createBackend(options: BackendOptions): Backend {
  const { reader, settings, history, lineage, valueLength, readsStored = true } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  const keys = resultKeys(settings);
  const store = createValueStore(reader);
  const dating = createDating(settings);
  const taker = createResultTaker({ history, lineage, store, keys, dating, valueLength });
  const scan = createResultScan({ history, lineage, store, keys, taker, signal });
  const reconciler = createReconciler({ history, store, keys, taker, signal });
  const tasks = createTaskLookup(history.reader, lineage, valueLength);
  const lookup = createResultLookup({ store, keys, taker, aside: tasks.keepAside, signal });
  let started = false;

  return {
    start() {
      if (started || signal.aborted) return;
      started = true;
      if (readsStored) scan.start();
      reconciler.start();
    },
    onGap() {
      if (!started || signal.aborted) return;
      if (readsStored) scan.start();
      reconciler.askAll();
    },
    lookup,
    withLookup: (source) => tasks.over(source, lookup),
    progress: () => ({ ...scan.progress(), commands: store.commands() }),
    stop() {
      stopping.abort();
      tasks.close();
    },
  };
}
