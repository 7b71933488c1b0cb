/** The components that the parameter `stats` adds: with them, one request has the figures of an overview. */
import { isMonitorError, type MonitorError } from '../errors.ts';
import { type AnswerEntry, contentOf } from '../http/answer-body.ts';
import { type Answer, createAnswer } from '../http/document.ts';
import { type MonitorRequest, type MonitorResponse, problemOf } from '../http/exchange.ts';
import { markersIn } from '../http/markers.ts';
import type { Monitor } from '../http/monitor.ts';
import { integer, moment, texts, type ValuesOf } from '../http/parameter.ts';
import type { Asked, Fault } from '../http/route.ts';
import type { RouteName } from '../options.ts';
import { type StatsFigures, statsColumns } from '../serialize/stats.ts';
import { shareCalls } from '../single-flight.ts';
import { ALL_TASKS } from '../source/task-query.ts';
import type { TaskQuery, TaskSource, TaskStats, TaskStatsQuery } from '../source.ts';
import type { ComponentBody, HealthCheckBody, MarkerBody } from '../wire.ts';
import { readChecks } from './healthcheck.ts';
import { ownComponent } from './own-components.ts';
import { COUNTED_MINUTES } from './task-parameters.ts';
import { getTaskStats, STATS_HOLD_MS } from './tasks.ts';
import { countWorkers } from './workers.ts';

export const OVERVIEW_QUERY = {
  stats: integer(
    'Adds the components `checks`, `workers` and `tasks`; `tasks` has statistics over this many minutes.',
    { minimum: 1, maximum: 129_600 },
  ),
  stats_until: moment('End of the window of `stats`. Default: now.'),
  since: moment(
    'Only `stats` over tasks whose last change is at or after this time; with at most 1440 minutes.',
  ),
  source: texts('Only `stats` over tasks of the source with this name.'),
};
type Values = ValuesOf<typeof OVERVIEW_QUERY>;

const MOST_CAUSES = 5;
/** Of the previous window all of them: one that is frequent now may have been rare. */
const ALL_CAUSES = 1_000;
/** How long the figures of the previous window are reused, in milliseconds. */
const BEFORE_HOLD_MS = 60_000;

/** One of the components for one request. */
export interface Added {
  readonly name: string;
  readonly json: string;
  /** What the ETag covers. */
  readonly covers: string;
}

/** Reads a component as its own route would answer this request. A problem of the route is the content. */
type ReadAdded = (request: MonitorRequest, response: MonitorResponse) => Promise<Added>;

/** @param key of the URL */
export function overviewOf(
  monitor: Monitor,
  { values, faulty }: Asked<Values>,
  key: string,
  fault: Fault,
): readonly ReadAdded[] {
  const { stats: minutes, stats_until: until, since, source } = values;
  if (minutes === null) {
    const given = { stats_until: until !== null, since: since !== null, source: source.length > 0 };
    for (const [name, isGiven] of Object.entries(given)) {
      if (isGiven && !faulty.has('stats')) fault(name, 'It is allowed only with stats.');
    }
    return [];
  }
  if (since !== null && minutes > COUNTED_MINUTES) fault('stats', 'Write at most 1440 with since.');
  const ofRoute = (name: string, route: RouteName, answer: Answer): ReadAdded =>
    guarded(monitor, name, route, async (request, response) =>
      ofEntry(name, await answer(request, response)),
    );
  return [
    guarded(monitor, 'checks', 'healthcheck', (request) => describeChecks(monitor, request)),
    ofRoute('workers', 'workers', countWorkers(monitor, `${key} workers`)),
    ofRoute('tasks', 'tasks', statsAnswer(monitor, values, minutes, key)),
  ];
}

function guarded(monitor: Monitor, name: string, route: RouteName, read: ReadAdded): ReadAdded {
  return async (request, response) => {
    const denial = await monitor.guard(request, route);
    if (denial !== null) return ofError(name, denial.error);
    try {
      return await read(request, response);
    } catch (error) {
      if (!isMonitorError(error)) throw error;
      return ofError(name, error);
    }
  };
}

function ofError(name: string, error: MonitorError): Added {
  const status = error.code === 'source_not_configured' ? 'disabled' : 'unknown';
  const json = JSON.stringify(ownComponent(name, status, { problem: problemOf(error) }));
  return { name, json, covers: json };
}

function ofEntry(name: string, { body, etag, freshness: { sources } }: AnswerEntry): Added {
  const fresh = sources.filter(({ ok }) => ok).length;
  const status = fresh === sources.length ? 'up' : fresh === 0 ? 'down' : 'unknown';
  const head = JSON.stringify(ownComponent(name, status)).slice(0, -1);
  return { name, json: `${head},${body.toString().slice(1)}`, covers: etag };
}

async function describeChecks(monitor: Monitor, request: MonitorRequest): Promise<Added> {
  const found = await readChecks(monitor, ['broker', 'backend', 'workers'], request);
  const [broker, backend, workers] = [found.broker, found.backend, found.workers].map(withoutLists);
  const checks = { broker, backend, workers } as Required<ComponentBody>['checks'];
  const outcomes = Object.values(checks).map(({ ok, error }) => ({ ok, error }));
  const hasFailed = outcomes.some(({ ok }) => ok === false);
  const status = hasFailed ? 'down' : outcomes.some(({ ok }) => ok === true) ? 'up' : 'unknown';
  const component = ownComponent('checks', monitor.sources.health === undefined ? 'disabled' : status, {
    checks,
  });
  return { name: 'checks', json: JSON.stringify(component), covers: JSON.stringify(outcomes) };
}

function withoutLists({ ok, error, latency_ms }: HealthCheckBody = NO_CHECK): HealthCheckBody {
  return { ok, error, latency_ms };
}

const NO_CHECK: HealthCheckBody = { ok: null, error: null, latency_ms: null };

type StatsRead = readonly [TaskStats | null, StatsFigures | null, readonly MarkerBody[]];

function statsAnswer(monitor: Monitor, values: Values, minutes: number, key: string): Answer {
  const { sources, serializer, options } = monitor;
  const { since } = values;
  const filter: TaskQuery = {
    ...ALL_TASKS,
    since,
    limit: 0,
    scan: options.limits.scan,
    causeOf: serializer.causeOf,
    conditions:
      values.source.length === 0
        ? []
        : [{ field: 'source', values: values.source, prefixes: [], isNegated: false }],
  };
  const endOf = (now: number): number => Math.min(values.stats_until?.getTime() ?? now, now);
  const windowAt = (end: number, causes: number): TaskStatsQuery => ({
    minutes,
    now: new Date(end),
    causes,
    filter,
  });
  const readBefore = shareCalls(() => {
    const end = endOf(Date.now());
    const start = since?.getTime() ?? end - minutes * 60_000;
    const before = since === null ? filter : { ...filter, since: new Date(2 * start - end) };
    // Windows include both ends.
    return readFigures(monitor, { ...windowAt(start - 1, ALL_CAUSES), filter: before }, `${key} before`);
  }, BEFORE_HOLD_MS);
  return createAnswer<TaskSource, StatsRead>(monitor, {
    part: sources.tasks,
    call: 'getTaskStats',
    key: `${key} tasks`,
    // Async functions, so that neither of two failures is an unhandled rejection.
    read: (source, context, now) =>
      Promise.all([
        (async () => getTaskStats(source, windowAt(endOf(now), MOST_CAUSES), context))(),
        readBefore(),
        monitor.markers(),
      ]),
    *content([stats, before, markers], _sourceOf, now) {
      yield;
      const figures = stats === null ? null : serializer.stats(stats);
      if (stats !== null && figures === null) throw new TypeError('getTaskStats() returned no figures.');
      const shown = markersIn(markers, windowAt(endOf(now), 0));
      const body = { stats: figures && statsColumns(figures, before, shown) };
      return { ...contentOf(body), changesAt: now + STATS_HOLD_MS };
    },
  });
}

/** Figures of a window; `null` if they cannot be read. */
async function readFigures(
  { sources: { tasks: part }, reader, serializer }: Monitor,
  query: TaskStatsQuery,
  key: string,
): Promise<StatsFigures | null> {
  if (part === undefined) return null;
  try {
    return await reader.read<TaskStats | null, StatsFigures | null>({
      part,
      call: 'getTaskStats',
      key,
      read: (context) => getTaskStats(part, query, context),
      map: (stats) => stats && serializer.stats(stats),
    });
  } catch (error) {
    if (!isMonitorError(error)) throw error;
    return null;
  }
}
