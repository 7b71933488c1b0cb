/** Groups failures by their cause. The result does not depend on the order in which they are added. */

import type { TaskCause } from '../model.ts';
import { type Steps, sortInSteps } from '../scheduler.ts';
import { compareText } from '../values.ts';

/** Maximum number of groups in a result. */
export const MOST_CAUSES = 1_000;
/** Maximum number of names, and of workers, in a group. */
const MOST_LISTED = 20;
/** Maximum number of groups during counting: beyond it, those with the fewest failures are dropped. */
const MOST_COUNTED = 20_000;
/** Number of groups that are kept when there were too many: more than any result has. */
const KEPT = 10_000;

/** A task that failed. Time in milliseconds since 1970. */
interface Failure {
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

/** Counts failures by cause. */
export type CauseGroups = ReturnType<typeof createCauseGroups>;

/** The result of counting. */
interface CauseGroupsResult {
  readonly causes: readonly CauseGroup[];
  readonly causesTruncated: boolean;
}

/** @returns an empty collection */
export function createCauseGroups(window: CauseWindow) {
  const groups = new Map<string, Counted>();

  return {
    add({ id, cause, name, worker, time }: Failure): void {
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
    /** The most frequent causes, at most `most`, and whether there are others. */
    *result(most: number, before: CausesBefore): Steps<CauseGroupsResult> {
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

type Counted = ReturnType<typeof newGroup>;

function newGroup(cause: TaskCause) {
  return {
    id: cause.id,
    cause,
    count: 0,
    first: Number.POSITIVE_INFINITY,
    last: Number.NEGATIVE_INFINITY,
    sample: '',
    names: new Map<string, number>(),
    workers: new Map<string, number>(),
    /** By the number of the step; −1: outside the window. */
    steps: new Map<number, number>(),
  };
}

function dropRarest(groups: Map<string, Counted>): void {
  const rarest = [...groups.values()].sort(compareGroups).slice(KEPT);
  for (const { id } of rarest) groups.delete(id);
}

/** The most frequent first, ties by id. */
function compareGroups(
  a: { readonly count: number; readonly id: string },
  b: { readonly count: number; readonly id: string },
): number {
  return b.count - a.count || compareText(a.id, b.id);
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

/** Maximum number of recorded causes. */
const MOST = 10_000;
/** Approximate memory of one, in bytes. */
const BYTES_EACH = 120;

/**
 * Records when each cause was first seen, even if its tasks are no longer known. Times in milliseconds since 1970.
 *
 * @returns an empty record
 */
export function createFirstSeen() {
  const times = new Map<string, number>();
  let forgottenUntil = Number.NEGATIVE_INFINITY;

  /** The cause that was added first: invented causes do not displace others for long. */
  function forgetOldest(): void {
    for (const [id, time] of times) {
      times.delete(id);
      forgottenUntil = Math.max(forgottenUntil, time);
      return;
    }
  }

  return {
    /** Causes seen before this time may have been forgotten; `-Infinity`: none has. */
    get forgottenUntil() {
      return forgottenUntil;
    },
    /** Estimated memory. */
    bytes: () => times.size * BYTES_EACH,
    /** When the first failure with this cause was seen; `null`: none is known. */
    firstSeen: (id: string) => times.get(id) ?? null,
    /** Records the failure of a task at this time. */
    note(id: string, time: number): void {
      const known = times.get(id);
      if (known === undefined && times.size >= MOST) forgetOldest();
      if (known === undefined || time < known) times.set(id, time);
    },
    clear(): void {
      times.clear();
      forgottenUntil = Number.NEGATIVE_INFINITY;
    },
  };
}

/** Groups that were counted together. */
interface CountedApart {
  /** `undefined`: its causes are unknown. */
  readonly causes?: readonly CauseGroup[] | undefined;
  readonly causesTruncated?: boolean | undefined;
  /** For each step of `activity`, the step of the result. */
  readonly steps: readonly number[];
}

/**
 * Adds up groups of failures that were counted separately, such as those of several sources.
 *
 * @param most groups of the result
 * @param stepCount steps of the result
 */
export function mergeGroups(
  parts: readonly CountedApart[],
  most: number,
  stepCount: number,
): CauseGroupsResult {
  const merged = new Map<string, CauseGroup>();
  for (const { causes = [], steps } of parts) {
    for (const group of causes) {
      const own = { ...group, activity: movedTo(steps, group.activity, stepCount) };
      const known = merged.get(group.id);
      merged.set(group.id, known === undefined ? own : addGroups(known, own));
    }
  }
  const listed = Math.min(most, MOST_CAUSES);
  const isMissing = parts.some(
    ({ causes, causesTruncated }) => causes === undefined || causesTruncated === true,
  );
  return {
    causes: [...merged.values()].sort(compareGroups).slice(0, listed),
    causesTruncated: isMissing || merged.size > listed,
  };
}

function movedTo(steps: readonly number[], activity: readonly number[], stepCount: number): number[] {
  const moved = new Array<number>(stepCount).fill(0);
  for (const [at, count] of activity.entries()) {
    const step = steps[at];
    if (step !== undefined && step < stepCount) moved[step] = (moved[step] as number) + count;
  }
  return moved;
}

function addGroups(a: CauseGroup, b: CauseGroup): CauseGroup {
  const [more, fewer] = compareGroups(a, b) <= 0 ? [a, b] : [b, a];
  const latest = timeOf(b.lastSeen) > timeOf(a.lastSeen) ? b : a;
  const firsts = [a.firstSeen, b.firstSeen].filter((time) => time !== null);
  return {
    ...a,
    count: a.count + b.count,
    firstSeen: firsts.length === 0 ? null : new Date(Math.min(...firsts.map(Number))),
    lastSeen: latest.lastSeen,
    names: union(more.names, fewer.names),
    workers: union(more.workers, fewer.workers),
    sample: latest.sample,
    isNew: a.isNew === false || b.isNew === false ? false : a.isNew === null ? null : b.isNew,
    activity: a.activity.map((count, at) => count + (b.activity[at] ?? 0)),
  };
}

function timeOf(time: Date | null): number {
  return time?.getTime() ?? Number.NEGATIVE_INFINITY;
}

function union(first: readonly string[], second: readonly string[]): readonly string[] {
  return [...new Set([...first, ...second])].slice(0, MOST_LISTED);
}
