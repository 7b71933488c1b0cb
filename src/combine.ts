/** Several sources in one monitor. */
import { listAllEvents } from './combine/events.ts';
import { combineHealth } from './combine/health.ts';
import {
  getAllHistoryStats,
  listAllComponents,
  listAllQueues,
  listAllSchedules,
  listAllWorkers,
} from './combine/lists.ts';
import { combineTasks } from './combine/tasks.ts';
import { checkSources } from './options/sources.ts';
import { markBundle } from './source/bundle-mark.ts';
import { type CombinedPart, partsOf } from './source/combined-part.ts';
import { closeAll, noteCombination } from './source/source-users.ts';
import type {
  Meter,
  MeterOptions,
  MetricsSource,
  MonitorSources,
  SourcePart,
  SourceStatus,
} from './source.ts';

type PartKind = Exclude<keyof MonitorSources, 'close'>;

/** The name of a combination in reports to the host. Answers name the individual sources. */
const NAME = 'combined';

/**
 * Shows several sources in one monitor: one list in one order, one feed, all workers. Every source keeps its
 * name, so each of them needs a name of its own: `celerySources({ name: 'billing', … })`.
 *
 * A source that is unavailable, hangs or returns invalid data is reported in `sources`, and the others still
 * answer. Where two sources know the same task id, the one that was given first answers.
 *
 * @example
 * app.use('/monitor', createMonitorRouter({
 *   sources: combineSources(celerySources({ broker }), bullmqSources({ queues }), { tasks: myTasks }),
 *   authorize: (request) => request.user?.isAdmin === true,
 * }));
 *
 * @param bundles what `createMonitorRouter({ sources })` accepts, including other combinations
 * @throws TypeError if there is no bundle, a value is not a bundle of sources, or two sources share a name
 */
export function combineSources(...bundles: readonly MonitorSources[]): MonitorSources {
  if (bundles.length === 0) {
    throw new TypeError('combineSources: write one or more sources, such as combineSources(celery, bullmq).');
  }
  for (const [index, bundle] of bundles.entries()) {
    checkSources(bundle, { caller: 'combineSources', option: `sources[${index}]` });
  }
  const all = <Kind extends PartKind>(kind: Kind): NonNullable<MonitorSources[Kind]>[] =>
    partsOfKind(bundles, kind);
  const combined = markBundle<MonitorSources>({
    ...combine('tasks', all('tasks'), combineTasks),
    ...combine('workers', all('workers'), (parts) => ({
      listWorkers: (context) => listAllWorkers(parts, context),
    })),
    ...combine('events', all('events'), (parts) => ({
      listEvents: (query, context) => listAllEvents(parts, query, context),
    })),
    ...combine('schedules', all('schedules'), (parts) => ({
      listSchedules: (context) => listAllSchedules(parts, context),
    })),
    ...combine('health', all('health'), combineHealth),
    ...combine('queues', all('queues'), (parts) => ({
      listQueues: (context) => listAllQueues(parts, context),
    })),
    ...combine('components', all('components'), (parts) => ({
      listComponents: (context) => listAllComponents(parts, context),
    })),
    ...combine('history', all('history'), (parts) => ({
      getHistoryStats: (context) => getAllHistoryStats(parts, context),
    })),
    ...combine('metrics', all('metrics'), (parts) => ({
      openMeter: (options) => openAllMeters(parts, options),
    })),
    close: () => closeAll(bundles),
  });
  noteCombination(combined, bundles);
  return combined;
}

/** A single part is returned unchanged. */
function combine<Kind extends PartKind>(
  kind: Kind,
  parts: readonly NonNullable<MonitorSources[Kind]>[],
  make: (
    parts: readonly NonNullable<MonitorSources[Kind]>[],
  ) => Omit<NonNullable<MonitorSources[Kind]>, 'name' | 'engine'>,
): Pick<MonitorSources, Kind> | undefined {
  const [first] = parts;
  if (first === undefined) return undefined;
  refuseSharedNames(kind, parts);
  if (parts.length === 1) return { [kind]: first } as unknown as Pick<MonitorSources, Kind>;
  const whole: CombinedPart<SourcePart> = {
    name: NAME,
    status: combinedStatus(parts),
    ...make(parts),
    combinedParts: parts,
  };
  return { [kind]: whole } as unknown as Pick<MonitorSources, Kind>;
}

/** The parts of one kind, with combinations replaced by their parts. */
function partsOfKind<Kind extends PartKind>(
  bundles: readonly MonitorSources[],
  kind: Kind,
): NonNullable<MonitorSources[Kind]>[] {
  return bundles.flatMap((bundle) => {
    const part = bundle[kind];
    // All parts of one kind have the same type.
    return part === undefined ? [] : [...partsOf(part as SourcePart)];
  }) as NonNullable<MonitorSources[Kind]>[];
}

function refuseSharedNames(kind: PartKind, parts: readonly SourcePart[]): void {
  const names = parts.map(({ name }) => name);
  const shared = names.find((name, index) => names.indexOf(name) !== index);
  if (shared === undefined) return;
  throw new TypeError(
    `combineSources: two sources of '${kind}' are named '${shared}'. Give each a name of its own, such as { name: '${shared}-2' }.`,
  );
}

/**
 * The status of a combined part for callers that read it as one part: as old as its oldest part. The router
 * reads the status of each part instead.
 */
function combinedStatus(parts: readonly SourcePart[]): () => SourceStatus {
  return () => {
    const all = parts.map((part): SourceStatus => part.status?.() ?? { ok: true, asOf: new Date() });
    const times = all.flatMap(({ asOf }) => asOf?.getTime() ?? []);
    const changes = all.flatMap(({ changesAt }) => changesAt?.getTime() ?? []);
    const revisions = all.map(({ revision }) => revision);
    const away = all.find(({ ok }) => !ok);
    return {
      ok: away === undefined,
      asOf: times.length === 0 ? null : new Date(Math.min(...times)),
      error: away === undefined ? null : (away.error ?? 'source_unavailable'),
      reason: away?.reason ?? null,
      ...(!revisions.includes(undefined) && { revision: JSON.stringify(revisions) }),
      changesAt: changes.length === 0 ? null : new Date(Math.min(...changes)),
    };
  };
}

/** One meter of several sources, which share the series. The router itself opens one meter for each source. */
function openAllMeters(parts: readonly MetricsSource[], options: MeterOptions): Meter {
  const mostSeries = Math.floor(options.mostSeries / parts.length);
  const meters = parts.map((part) => part.openMeter({ ...options, mostSeries }));
  const families = meters.flatMap((meter) => meter.families);
  return {
    families: families.filter(
      ({ name }, index) => families.findIndex((other) => other.name === name) === index,
    ),
    collect: async (context) => (await Promise.all(meters.map((meter) => meter.collect(context)))).flat(),
    overflow: () => meters.reduce((sum, meter) => sum + (meter.overflow?.() ?? 0), 0),
    close: () => {
      for (const meter of meters) meter.close();
    },
  };
}
