/** Failures by cause, as summed up by the store, and when causes were first seen. */
import { type CauseGroup, isNewIn, mostFrequent } from '../../../causes/cause-groups.ts';
import { type Steps, scheduler } from '../../../scheduler.ts';
import type { StatsWindow } from '../../../select/task-stats.ts';
import type { ReadContext, TaskStats, TaskStatsQuery } from '../../../source.ts';
import type { CauseCount, CausePart, CauseStep, FailureQuery } from '../../cause-store.ts';
import type { StoredCause, StoreSession } from '../../store.ts';

/** Causes of one read. */
const AT_ONCE = 100;
/** Most failures by cause, name and worker of one read. */
const MOST_PARTS = 20_000;

type Causes = Required<Pick<TaskStats, 'causes' | 'causesTruncated'>>;
type CauseSession = Pick<StoreSession, 'causes'>;

/** How far back causes are known. Times in milliseconds since 1970. */
export interface CauseReach {
  /** Since when the store counts; `null`: it does not. */
  readonly since: number | null;
  /** The failures of tasks before this time are no longer stored. */
  readonly oldest: number;
}

/** Failures by cause in a window, which begins with its first step. Rejects with what the store throws. */
export async function causesOfStore(
  session: CauseSession,
  { causes: most = 0, filter }: TaskStatsQuery,
  window: StatsWindow,
  { since, oldest }: CauseReach,
  context: ReadContext,
): Promise<Causes> {
  const { names, queues, workers } = filter;
  const query: FailureQuery = { from: window.first, to: window.end + 1, names, queues, workers };
  // One more shows that there are more.
  const listed = await session.causes.counts(query, most + 1);
  const causes: CauseGroup[] = [];
  for (let at = 0; at < Math.min(most, listed.length); at += AT_ONCE) {
    const wanted = listed.slice(at, Math.min(at + AT_ONCE, most));
    const ids = wanted.map(({ cause }) => cause);
    const [parts, steps, texts] = await Promise.all([
      session.causes.parts(query, ids, MOST_PARTS),
      session.causes.steps(query, ids, { first: window.first, ms: window.stepSeconds * 1_000 }),
      session.causes.describe(ids),
    ]);
    const groups = groupsOf({ wanted, parts, steps, texts, window, since });
    causes.push(...(await scheduler.run('stats', groups, context)));
  }
  return {
    causes,
    causesTruncated: listed.length > most || window.first < oldest,
  };
}

/** The same causes, with what the store knows about the time before. Rejects with what the store throws. */
export async function withFirstSeen(
  session: CauseSession,
  causes: readonly CauseGroup[],
  window: StatsWindow,
  countedSince: Date | null,
): Promise<readonly CauseGroup[]> {
  const since = countedSince?.getTime() ?? null;
  const stored = await session.causes.describe(causes.map(({ id }) => id));
  const firsts = new Map(stored.map(({ id, firstSeen }) => [id, firstSeen]));
  return causes.map((group) => {
    const first = Math.min(
      group.firstSeen?.getTime() ?? Number.POSITIVE_INFINITY,
      firsts.get(group.id) ?? Number.POSITIVE_INFINITY,
    );
    if (!Number.isFinite(first)) return group;
    return { ...group, firstSeen: new Date(first), isNew: isNewIn(window, first, since) };
  });
}

/** The data that was read about some causes. */
interface ReadCauses {
  readonly wanted: readonly CauseCount[];
  readonly parts: readonly CausePart[];
  readonly steps: readonly CauseStep[];
  readonly texts: readonly StoredCause[];
  readonly window: StatsWindow;
  readonly since: number | null;
}

function* groupsOf({ wanted, parts, steps, texts, window, since }: ReadCauses): Steps<CauseGroup[]> {
  const described = new Map(texts.map((cause) => [cause.id, cause]));
  const sums = new Map(wanted.map(({ cause }) => [cause, newSums(window.count)]));
  for (const part of parts) {
    addPart(sums.get(part.cause), part);
    yield;
  }
  for (const { cause, step, count } of steps) {
    const activity = sums.get(cause)?.activity;
    if (activity?.[step] !== undefined) activity[step] += count;
    yield;
  }
  const groups: CauseGroup[] = [];
  for (const { cause: id, count } of wanted) {
    const { names, workers, last, sample, activity } = sums.get(id) ?? newSums(window.count);
    const { exception = null, message = null, frame = null, firstSeen = null } = described.get(id) ?? {};
    groups.push({
      id,
      exception,
      message,
      frame,
      count,
      sample,
      activity,
      firstSeen: firstSeen === null ? null : new Date(firstSeen),
      lastSeen: Number.isFinite(last) ? new Date(last) : null,
      names: mostFrequent(names),
      workers: mostFrequent(workers),
      isNew: firstSeen === null ? null : isNewIn(window, firstSeen, since),
    });
    yield;
  }
  return groups;
}

/** The data about one cause. */
interface Sums {
  readonly names: Map<string, number>;
  readonly workers: Map<string, number>;
  readonly activity: number[];
  last: number;
  sample: string | null;
  sampleAt: number;
}

function newSums(steps: number): Sums {
  const never = Number.NEGATIVE_INFINITY;
  return {
    names: new Map(),
    workers: new Map(),
    activity: new Array<number>(steps).fill(0),
    last: never,
    sample: null,
    sampleAt: never,
  };
}

function addPart(sums: Sums | undefined, { name, worker, count, last, sample }: CausePart): void {
  if (sums === undefined) return;
  if (name !== null) sums.names.set(name, (sums.names.get(name) ?? 0) + count);
  if (worker !== null) sums.workers.set(worker, (sums.workers.get(worker) ?? 0) + count);
  sums.last = Math.max(sums.last, last);
  if (last > sums.sampleAt || (last === sums.sampleAt && sample < (sums.sample ?? sample))) {
    sums.sample = sample;
    sums.sampleAt = last;
  }
}
