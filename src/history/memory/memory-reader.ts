import type { CausesBefore } from '../../causes/cause-groups.ts';
import { type Steps, scheduler } from '../../scheduler.ts';
import { countCallers, type FamilyNames } from '../../select/callers.ts';
import { depthsOf } from '../../select/queue-depths.ts';
import { createStatsAccumulator, type StatsOptions, statsWindow } from '../../select/task-stats.ts';
import type {
  Activity,
  Awaitable,
  HistoryStats,
  ReadContext,
  TaskPage,
  TaskQuery,
  TaskStats,
  TaskStatsQuery,
} from '../../source.ts';
import { summarizeOpen } from '../answers/open-summary.ts';
import { familyNames, type Rows } from '../answers/rows.ts';
import type { TaskList } from '../answers/task-list.ts';
import { childrenOf, headerOf, workflowOf } from '../answers/workflow.ts';
import type { HistoryPart, HistoryReader } from '../history.ts';
import { catchUp, type MemoryState } from './memory-state.ts';

/**
 * The reader of a history in memory.
 *
 * @param lag milliseconds between the newest change at its sender and its arrival; `null` when there was none
 */
export function createMemoryReader(state: MemoryState, lag: () => number | null): HistoryReader {
  const { tables, workers, feed, revisions } = state;
  const { records, eviction, rows } = tables;
  const changesAt = createChangeTimes(state);

  function slotOf(id: string): number | undefined {
    catchUp(state);
    return records.slots.get(id);
  }

  return {
    instance: state.instance,
    listTasks: (query, context) => listTasks(state, query, context),
    getTask(id) {
      const slot = slotOf(id);
      if (slot === undefined) return null;
      const task = rows.detail(slot, childrenOf(id, tables));
      const waitsFor = task.state === 'PENDING' ? headerOf(id, tables) : null;
      return waitsFor === null ? task : { ...task, waitsFor };
    },
    getTaskTree(id, context) {
      const slot = slotOf(id);
      return slot === undefined ? null : scheduler.run('workflow', workflowOf(slot, tables), context);
    },
    getTaskStats(query, context) {
      return scheduler.run(
        'stats',
        caughtUp(state, () => statsOfTasks(state, query)),
        context,
      );
    },
    listWorkers: () => workers.list(),
    listEvents(query, context) {
      catchUp(state);
      return scheduler.run('feed', feed.list(query), context);
    },
    getStats() {
      catchUp(state);
      return statsOf(state, lag());
    },
    getActivity: (context) =>
      scheduler.run(
        'activity',
        caughtUp(state, () => activityOf(state)),
        context,
      ),
    checkWorkers: () => workers.check(),
    listKnown: (ids) => new Set([...ids].filter((id) => records.slots.has(id))),
    freshness(part) {
      if (part === 'tasks' && eviction.isOverdue()) catchUp(state);
      return { revision: revisions[part], changesAt: changesAt(part) };
    },
    isClosed: () => state.isClosed,
  };
}

function listTasks(state: MemoryState, query: TaskQuery, context: ReadContext): Awaitable<TaskPage> {
  if (query.rootId === null) return listMatching(state, query, context);
  // Roots are derived when the indexes are updated.
  catchUp(state);
  const passing = state.tables.roots.passing();
  return passing === null
    ? listMatching(state, query, context)
    : passing.then(() => listMatching(state, query, context));
}

function listMatching(state: MemoryState, query: TaskQuery, context: ReadContext): Awaitable<TaskPage> {
  const { sort, q } = query;
  const { list, index } = state.tables;
  const kind = q !== null ? 'search' : sort === 'timestamp' ? 'list' : 'sort';
  const page = scheduler.run(
    kind,
    caughtUp(state, () => list.list(query)),
    context,
  );
  return page instanceof Promise ? page.then(orBuilt) : orBuilt(page);

  function orBuilt(answer: TaskPage | null): Awaitable<TaskPage> {
    if (answer !== null || sort === 'timestamp') return answer as TaskPage;
    const building = index.sorts.build(sort);
    const again = (): Awaitable<TaskPage> => listMatching(state, query, context);
    return building === undefined ? again() : building.then(again);
  }
}

/** Work on updated indexes. */
function* caughtUp<Result>(state: MemoryState, work: () => Steps<Result>): Steps<Result> {
  catchUp(state);
  return yield* work();
}

/** Figures of the tasks, and of the queues, to which only the filter of queues applies. */
function* statsOfTasks(state: MemoryState, query: TaskStatsQuery): Steps<TaskStats> {
  const { aggregate, tables } = state;
  const stats = yield* summarize(query, tables.list, tables.rows, familyNames(tables.records, tables.index), {
    isWhole: (from, to) => isSeenWhole(state, from, to),
    before: causesBefore(state),
  });
  const samples = aggregate.queues.samples(query.filter.queues);
  const depths = yield* depthsOf(samples, statsWindow(query));
  return depths.length === 0 ? stats : { ...stats, queueDepths: depths };
}

function* activityOf(state: MemoryState): Steps<Activity> {
  const { tables, workers, deaths, flags, coverage, aggregate, clock } = state;
  const { records, index } = tables;
  const { isOnline } = workers;
  const repeated = tables.repeated.list(clock());
  return {
    since: coverage.since(),
    blind: null,
    counts: aggregate,
    open: yield* summarizeOpen({ records, index, flags, isOnline, missedAt: tables.open.missedAt }),
    silent: workers.silent(),
    growing: aggregate.queues.growing(clock()),
    ...(!state.isEventless && {
      ...(repeated && { repeated }),
      deaths: deaths.list(workers.silent(), clock()),
    }),
    recent: (queue) => aggregate.queues.recent(queue, clock()),
  };
}

/**
 * Whether everything between these times was seen. Nothing is seen while the source is disconnected, or if events are
 * not reported.
 */
export function isSeenWhole(
  { coverage, frozenAt, isEventless }: MemoryState,
  from: number,
  to: number,
): boolean {
  return !isEventless && (frozenAt === null || to <= frozenAt) && coverage.isWhole(from, to);
}

/** What is known about causes, for the time in which events are seen. */
export function causesBefore({ tables, coverage, isEventless, startedAt, tap }: MemoryState): CausesBefore {
  const { seen } = tables.records.causes;
  return {
    firstSeen: seen.firstSeen,
    since() {
      if (isEventless) return null;
      // Memory does not have all causes of the stored tasks.
      return Math.max(
        coverage.since(),
        seen.forgottenUntil,
        tap === null ? Number.NEGATIVE_INFINITY : startedAt,
      );
    },
  };
}

function statsOf(
  { tables, workers, feed, counts, startedAt }: MemoryState,
  lag: number | null,
): HistoryStats {
  return {
    tasks: tables.records.slots.size,
    workers: workers.size(),
    events: feed.size(),
    since: new Date(startedAt),
    evicted: counts.evicted,
    bytes: tables.eviction.bytes(),
    eventsReceived: counts.received,
    dropped: counts.dropped,
    lagSeconds: lag === null ? null : lag / 1000,
  };
}

/** The next change by the clock alone, as it was found last. */
interface FoundChange {
  /** The revisions for which it was found. */
  revision: number;
  /** It is valid until then, milliseconds. */
  until: number;
  at: Date | null;
}

/**
 * @returns a function that finds when the clock alone next changes an answer (a worker's status, an overdue task);
 *   `null`: never. Called for every request, so it searches once per revision.
 */
function createChangeTimes(state: MemoryState): (part: HistoryPart) => Date | null {
  const { tables, workers, revisions, clock } = state;
  const unknown: FoundChange = { revision: -1, until: 0, at: null };
  const found = { tasks: unknown, workers: unknown };

  function find(part: 'tasks' | 'workers'): number {
    const next = workers.nextChange();
    if (part === 'workers') return next;
    tables.catchUp();
    return Math.min(next, tables.index.etas.nextAfter(clock()));
  }

  return (part) => {
    if (part === 'events' || state.frozenAt !== null) return null;
    const revision = revisions.tasks + revisions.workers;
    const known = found[part];
    if (known.revision === revision && clock() < known.until) return known.at;
    const until = find(part);
    const at = Number.isFinite(until) ? new Date(until) : null;
    found[part] = { revision, until, at };
    return at;
  };
}

const MINUTE_MS = 60_000;

/**
 * Sums up the tasks that last changed within the window.
 *
 * @param names of all tasks
 * @param options which part of that time was observed
 */
function* summarize(
  query: TaskStatsQuery,
  tasks: TaskList,
  rows: Rows,
  names: FamilyNames,
  options: StatsOptions,
): Steps<TaskStats> {
  const { now, minutes, filter } = query;
  const start = now.getTime() - minutes * MINUTE_MS;
  const since = filter.since !== null && filter.since.getTime() > start ? filter.since : new Date(start);
  const statistics = createStatsAccumulator(query, options);
  const window = { ...filter, since, after: null, sort: 'timestamp', order: 'desc' } as const;
  yield* tasks.visit(window, (slot) => statistics.add(rows.figures(slot)));
  const stats = yield* statistics.result();
  return query.callers === true ? { ...stats, ...(yield* countCallers(statistics.counted, names)) } : stats;
}
