/** Several sources in one monitor. */

import {
  combineComponents,
  combineHealth,
  combineHistory,
  combineQueues,
  combineSchedules,
  combineWorkers,
} from './combine/deployment.ts';
import { listAllEvents } from './combine/events.ts';
import { combineTasks } from './combine/tasks.ts';
import { checkSources } from './options/sources.ts';
import { joinRedact, resolveRedact } from './redact.ts';
import { closeAll, markBundle, noteCombination } from './source/bundles.ts';
import { type CombinedPart, partsOf } from './source/combined-part.ts';
import type { MonitorSources, SourcePart, SourceStatus } from './source.ts';

type PartKind = Exclude<keyof MonitorSources, 'redact' | 'close'>;

/** The name of a combination in reports to the host. Answers name the individual sources. */
const NAME = 'combined';

/**
 * Shows several sources in one monitor: one list in one order, one feed, all workers. Every source keeps its
 * name, so each of them needs a name of its own: `celerySources({ name: 'billing', … })`.
 *
 * A source that is unavailable, hangs or returns invalid data is reported in `sources`, and the others still
 * answer. Where two sources know the same task id, the one that was given first answers.
 *
 * Texts that a source has not masked itself are masked by the rules of all sources together.
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
  const redact = bundles.map((bundle, index) => {
    const place = { caller: 'combineSources', option: `sources[${index}]` };
    return resolveRedact(checkSources(bundle, place).redact, { ...place, option: `${place.option}.redact` });
  });
  const kinds = Object.keys(COMBINE) as readonly PartKind[];
  const parts = Object.fromEntries(
    kinds.flatMap((kind) => {
      const part = combinedPart(kind, bundles);
      return part === undefined ? [] : [[kind, part]];
    }),
  );
  const combined = markBundle<MonitorSources>(
    { ...parts, close: () => closeAll(bundles) },
    joinRedact(redact),
  );
  noteCombination(combined, bundles);
  return combined;
}

type Part<Kind extends PartKind> = NonNullable<MonitorSources[Kind]>;

/** How several parts of a kind become one. */
const COMBINE: {
  readonly [Kind in PartKind]: (parts: readonly Part<Kind>[]) => Omit<Part<Kind>, 'name' | 'engine'>;
} = {
  tasks: combineTasks,
  workers: combineWorkers,
  events: (parts) => ({ listEvents: (query, context) => listAllEvents(parts, query, context) }),
  schedules: combineSchedules,
  health: combineHealth,
  queues: combineQueues,
  components: combineComponents,
  history: combineHistory,
  // The router asks each of the parts.
  experimental: () => ({}),
};

/** The parts of one kind as one. Combinations count as their parts; a single part is returned unchanged. */
function combinedPart<Kind extends PartKind>(
  kind: Kind,
  bundles: readonly MonitorSources[],
): SourcePart | undefined {
  // All parts of one kind have the same type.
  const parts = bundles.flatMap((bundle) => {
    const part: SourcePart | undefined = bundle[kind];
    return part === undefined ? [] : partsOf(part);
  }) as unknown as readonly Part<Kind>[];
  refuseSharedNames(kind, parts);
  if (parts.length < 2) return parts[0];
  const whole: CombinedPart<SourcePart> = {
    name: NAME,
    status: combinedStatus(parts),
    ...COMBINE[kind](parts),
    combinedParts: parts,
  };
  return whole;
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
