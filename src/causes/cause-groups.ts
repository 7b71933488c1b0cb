/** Groups failures by their cause. The result does not depend on the order in which they are added. */
import type { TaskCause } from '../model.ts';
import { type Steps, sortInSteps } from '../scheduler.ts';

/** Maximum number of groups in a result. */
export const MOST_CAUSES = 1_000;
/** Maximum number of names, and of workers, in a group. */
export const MOST_LISTED = 20;
/** Maximum number of groups during counting: beyond it, those with the fewest failures are dropped. */
const MOST_COUNTED = 20_000;
/** Number of groups that are kept when there were too many: more than any result has. */
const KEPT = 10_000;

/** A task that failed. Time in milliseconds since 1970. */
export interface Failure {
  readonly id: string;
  readonly cause: TaskCause;
  readonly name: string | null;
  readonly worker: string | null;
  /** When it failed. */
  readonly time: number;
}

/** Failures with one cause. */
export interface CauseGroup extends TaskCause {
  readonly count: number;
  /** When the first known failure with this cause happened; `null`: unknown. */
  readonly firstSeen: Date | null;
  /** When the last of these failed; `null`: unknown. */
  readonly lastSeen: Date | null;
  /** The most frequent names and workers, 20 at most. */
  readonly names: readonly string[];
  readonly workers: readonly string[];
  /** The id of the last of these tasks; `null`: unknown. */
  readonly sample: string | null;
  /** Whether the first failure with this cause is in the window; `null`: too little is known about the time before. */
  readonly isNew: boolean | null;
  /** Number of these failures in each step of the window. */
  readonly activity: readonly number[];
}

/** What is known about the time before the window. Times in milliseconds since 1970. */
export interface CausesBefore {
  /** When the first failure with this cause was seen; `null`: none is known. */
  firstSeen(id: string): number | null;
  /** Since when failures are known; `null`: unknown. */
  since(): number | null;
}

/** Milliseconds since 1970. */
interface Period {
  readonly start: number;
  readonly end: number;
}

/** The window of the statistics. */
interface CauseWindow extends Period {
  /** Number of steps. */
  readonly steps: number;
  /** The step of a time; −1: none. */
  stepOf(time: number): number;
}

interface Counted {
  readonly id: string;
  readonly cause: TaskCause;
  count: number;
  first: number;
  last: number;
  sample: string;
  readonly names: Map<string, number>;
  readonly workers: Map<string, number>;
  /** By the number of the step; −1: outside the window. */
  readonly steps: Map<number, number>;
}

/** Counts failures by cause. */
export interface CauseGroups {
  add(failure: Failure): void;
  /** The most frequent causes, at most `most`, and whether there are others. */
  result(most: number, before: CausesBefore): Steps<CauseGroupsResult>;
}

/** The result of counting. */
export interface CauseGroupsResult {
  readonly causes: readonly CauseGroup[];
  readonly causesTruncated: boolean;
}

/** @returns an empty collection */
export function createCauseGroups(window: CauseWindow): CauseGroups {
  const groups = new Map<string, Counted>();

  return {
    add({ id, cause, name, worker, time }) {
      let group = groups.get(cause.id);
      if (group === undefined) {
        if (groups.size >= MOST_COUNTED) dropRarest(groups);
        group = newGroup(cause);
        groups.set(cause.id, group);
      }
      group.count++;
      if (time < group.first) group.first = time;
      if (time > group.last || (time === group.last && id < group.sample)) {
        group.last = time;
        group.sample = id;
      }
      if (name !== null) increment(group.names, name);
      if (worker !== null) increment(group.workers, worker);
      increment(group.steps, window.stepOf(time));
    },
    *result(most, before) {
      const listed = Math.min(most, MOST_CAUSES);
      const frequent = yield* sortInSteps([...groups.values()], compareGroups, listed);
      const causes: CauseGroup[] = [];
      for (const group of frequent) {
        causes.push(groupOf(group, window, before));
        yield;
      }
      return { causes, causesTruncated: groups.size > listed };
    },
  };
}

function newGroup(cause: TaskCause): Counted {
  return {
    id: cause.id,
    cause,
    count: 0,
    first: Number.POSITIVE_INFINITY,
    last: Number.NEGATIVE_INFINITY,
    sample: '',
    names: new Map(),
    workers: new Map(),
    steps: new Map(),
  };
}

function dropRarest(groups: Map<string, Counted>): void {
  const rarest = [...groups.values()].sort(compareGroups).slice(KEPT);
  for (const { id } of rarest) groups.delete(id);
}

/** The most frequent first, ties by id. */
export function compareGroups(
  a: { readonly count: number; readonly id: string },
  b: { readonly count: number; readonly id: string },
): number {
  return b.count - a.count || compareText(a.id, b.id);
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function increment<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/** The most frequent texts, at most 20. */
export function mostFrequent(counts: ReadonlyMap<string, number>): string[] {
  const sorted = [...counts].sort(([a, many], [b, more]) => more - many || compareText(a, b));
  return sorted.slice(0, MOST_LISTED).map(([text]) => text);
}

function groupOf(
  { cause, count, first, last, sample, names, workers, steps }: Counted,
  window: CauseWindow,
  before: CausesBefore,
): CauseGroup {
  const firstSeen = Math.min(first, before.firstSeen(cause.id) ?? Number.POSITIVE_INFINITY);
  return {
    ...cause,
    count,
    firstSeen: new Date(firstSeen),
    lastSeen: new Date(last),
    names: mostFrequent(names),
    workers: mostFrequent(workers),
    sample,
    isNew: isNewIn(window, firstSeen, before.since()),
    activity: Array.from({ length: window.steps }, (_, step) => steps.get(step) ?? 0),
  };
}

/** A cause that was not seen for this long counts as new in any window, in milliseconds. */
const LONG_ENOUGH = 24 * 3_600_000;

/**
 * Whether a cause is new in a window; `null`: too little is known about the time before. It is new if it was not seen
 * before for the length of the window or for a day. A history that has just begun cannot tell.
 *
 * @param since since when failures are known; `null`: unknown
 */
export function isNewIn({ start, end }: Period, firstSeen: number, since: number | null): boolean | null {
  if (firstSeen < start) return false;
  if (since === null || since >= start) return null;
  return firstSeen - since >= Math.min(end - start, LONG_ENOUGH) ? true : null;
}
