/** Reads in what lies in the backend, in the background. */
import type { CollectedHistory } from '../../../../history/history.ts';

import { describeError, type RedisProblem } from '../../../../redis/problems.ts';
import type { Lineage } from '../../lineage/lineage.ts';
import { pause } from './pauses.ts';
import type { ResultKeys } from './result-keys.ts';
import { decodeGroup } from './result-nodes.ts';
import type { ResultTaker } from './result-taker.ts';
import type { ValuePart, ValueStore } from './value-store.ts';

/** For one part of work of this event loop, so many parts of rest: reading in takes a third of the time. */
const REST_PER_WORK = 2;
/** All in milliseconds. */
const SHORTEST_REST = 1;
const LONGEST_REST = 250;
const FIRST_RETRY = 250;
const LAST_RETRY = 10_000;
/** Errors in a row that Redis itself answers with, after which reading in is given up. */
const MOST_REFUSALS = 3;
/** Another reading waits so many times as long as the last one took, yet no longer than a minute. */
const SPACING = 2;
const LONGEST_SPACING = 60_000;

/** How far reading in has come. */
export interface ReadingProgress {
  /** Whether everything has been read, or nothing more will be. */
  readonly done: boolean;
  /** Keys in the database, those of others included; `null` while that is not known. */
  readonly keys: number | null;
  /** Results of tasks gone through. */
  readonly read: number;
  /** Those that the history was told of. */
  readonly kept: number;
  /** Values of another serializer, or broken ones. */
  readonly unreadable: number;
  /** When it began; `null` before. */
  readonly since: Date | null;
  readonly finishedAt: Date | null;
  /** What keeps it from going on, or ended it. */
  readonly problem: RedisProblem | null;
}

/** Reads in what lies in the backend. */
export interface ResultScan {
  /** Reads everything; while that goes on already, everything once more afterwards. */
  start(): void;
  progress(): ReadingProgress;
}

/** What a scan needs. */
export interface ResultScanOptions {
  readonly history: CollectedHistory;
  readonly lineage: Lineage;
  readonly store: ValueStore;
  readonly keys: ResultKeys;
  readonly taker: ResultTaker;
  /** Ends it. */
  readonly signal: AbortSignal;
}

export function createResultScan(options: ResultScanOptions): ResultScan {
  const { history, lineage, store, keys, taker, signal } = options;
  let progress: { -readonly [Field in keyof ReadingProgress]: ReadingProgress[Field] } = newProgress(null);
  let wanted = false;
  let running = false;

  async function run(): Promise<void> {
    running = true;
    while (wanted && !signal.aborted) {
      wanted = false;
      const since = new Date();
      progress = newProgress(since);
      await readAll();
      const finishedAt = new Date();
      progress = { ...progress, done: true, finishedAt };
      const took = finishedAt.getTime() - since.getTime();
      await pause(Math.min(took * SPACING, LONGEST_SPACING), signal);
    }
    running = false;
  }

  async function readAll(): Promise<void> {
    let cursor: string | null = '0';
    let failures = 0;
    while (cursor !== null && !signal.aborted) {
      const before = performance.eventLoopUtilization();
      try {
        progress.keys ??= await store.size(signal);
        const step: { cursor: string; keys: string[] } = await store.scan(cursor, keys.pattern, signal);
        await takeStep(step.keys);
        cursor = step.cursor === '0' ? null : step.cursor;
        failures = 0;
        progress.problem = null;
      } catch (error) {
        if (signal.aborted) return;
        const problem = describeError(error);
        progress.problem = problem;
        failures += 1;
        const refused = problem.code === 'UNKNOWN' && failures >= MOST_REFUSALS;
        if (problem.code === 'NOPERM' || refused) return;
        await pause(Math.min(FIRST_RETRY * 2 ** (failures - 1), LAST_RETRY), signal);
      }
      // What the host did meanwhile counts as well: the busier it is, the more it is left alone.
      const { active } = performance.eventLoopUtilization(before);
      await pause(Math.min(Math.max(active * REST_PER_WORK, SHORTEST_REST), LONGEST_REST), signal);
    }
  }

  async function takeStep(names: readonly string[]): Promise<void> {
    const tasks = names.flatMap((key) => keys.taskOf(key) ?? []);
    // Celery never overwrites a stored SUCCESS, so what is known of it has not changed.
    const unknown = tasks.filter((id) => history.index.stateOf(id) !== 'SUCCESS');
    for await (const part of store.readScanned(unknown.map(keys.task), signal)) {
      const taken = await taker.take(idsOf(part), signal);
      progress.kept += taken.kept;
      progress.unreadable += taken.unreadable;
    }
    progress.read += tasks.length;
    for await (const part of store.read(names.filter(keys.isGroup), signal)) takeGroups(part);
  }

  function idsOf({ keys: names, values }: ValuePart): [string, ValuePart['values'][number]][] {
    return names.map((key, at) => [keys.taskOf(key) ?? '', values[at] ?? null]);
  }

  function takeGroups({ values }: ValuePart): void {
    for (const value of values) {
      if (value === null) continue;
      const group = typeof value === 'string' ? decodeGroup(value) : null;
      if (group === null) progress.unreadable += 1;
      else lineage.saved(group);
    }
  }

  return {
    start() {
      wanted = true;
      if (!running) void run();
    },
    progress: () => ({ ...progress }),
  };
}

function newProgress(since: Date | null): ReadingProgress {
  return {
    done: false,
    keys: null,
    read: 0,
    kept: 0,
    unreadable: 0,
    since,
    finishedAt: null,
    problem: null,
  };
}
