import type { SourcePart, SourceStatus } from '../source.ts';

/**
 * The status of a combined part for callers that read it as one part: as old as its oldest part. The router
 * reads the status of each part instead.
 */
export function combinedStatus(parts: readonly SourcePart[]): () => SourceStatus {
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
