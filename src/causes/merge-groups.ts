/** Adds up groups of failures that were counted separately, such as those of several sources. */
import {
  type CauseGroup,
  type CauseGroupsResult,
  compareGroups,
  MOST_CAUSES,
  MOST_LISTED,
} from './cause-groups.ts';

/** Groups that were counted together. */
export interface CountedApart {
  /** `undefined`: its causes are unknown. */
  readonly causes?: readonly CauseGroup[] | undefined;
  readonly causesTruncated?: boolean | undefined;
  /** For each step of `activity`, the step of the result. */
  readonly steps: readonly number[];
}

/**
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
