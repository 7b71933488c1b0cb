/**
 * `source_down`: a source, its broker or its result backend is unreachable or fails its check. All problems that one
 * unreachable server causes are one finding: parts are grouped by the host and port in their address, and parts
 * without an address by their source.
 */
import type { ComponentBody } from '../wire.ts';
import { clear, type Finding, type Judgement, listed, type SourceSituation } from './finding.ts';

/** The code of this rule. It covers all sources together. */
export const SOURCE_DOWN = 'source_down';

/** Parts that fail together. */
interface Outage {
  readonly server: string | null;
  readonly sources: Set<string>;
  readonly parts: Set<string>;
  readonly errors: Set<string>;
  since: number | null;
}

/** @param own components of the monitor itself, such as the exporter of metrics, by key */
export function judgeServers(
  sources: readonly SourceSituation[],
  own: Readonly<Record<string, ComponentBody>>,
): Judgement {
  const outages: Outage[] = [];
  for (const source of sources) addSource(outages, source);
  for (const [key, component] of Object.entries(own)) {
    if (isDown(component)) note(outageOf(outages, component.url, key), key, component.config?.error);
  }
  const unknown = sources.length === 0 ? 'No source is configured.' : null;
  return outages.length === 0 ? clear(unknown) : { findings: outages.map(findingOf), unknown };
}

function addSource(outages: Outage[], { name, error, asOf, components, checks }: SourceSituation): void {
  const own: Outage[] = [];
  const noteIn = (outage: Outage, part: string, reason: unknown): void => {
    note(outage, part, reason);
    outage.sources.add(name);
    if (error !== null && asOf !== null && (outage.since === null || asOf < outage.since))
      outage.since = asOf;
    if (!own.includes(outage)) own.push(outage);
  };
  // An unreachable store hides no data that is in memory: `store_behind` reports it.
  const down = Object.entries(components).filter(
    ([key, component]) => key !== 'history.store' && isDown(component),
  );
  const outageIn = (url: string | null): Outage =>
    (serverOf(url) === null ? own[0] : undefined) ?? outageOf(outages, url, name);
  // Those with an address first: they cause the outage of the others.
  down.sort(([, a], [, b]) => Number(serverOf(a.url) === null) - Number(serverOf(b.url) === null));
  for (const [key, { url, config }] of down) noteIn(outageIn(url), `${name}.${key}`, config?.error);
  for (const part of ['broker', 'backend'] as const) {
    if (checks[part].ok !== false) continue;
    noteIn(outageIn(components[part]?.url ?? null), `${name}.${part}`, checks[part].error);
  }
  if (error === null || own.length > 0) return;
  // Without a connection of its own, an instance knows what the store tells it.
  const store = components['history.store'];
  const outage = outageOf(outages, null, name);
  if (store !== undefined && isDown(store)) noteIn(outage, `${name}.history.store`, store.config?.error);
  else noteIn(outage, name, null);
}

function isDown({ enabled, status }: ComponentBody): boolean {
  return enabled && status === 'down';
}

/** The outage of a server; without an address, that of the source or component. */
function outageOf(outages: Outage[], url: string | null, name: string): Outage {
  const server = serverOf(url);
  const known = outages.find((outage) =>
    server === null ? outage.server === null && outage.sources.has(name) : outage.server === server,
  );
  if (known !== undefined) return known;
  const outage: Outage = { server, sources: new Set(), parts: new Set(), errors: new Set(), since: null };
  outages.push(outage);
  return outage;
}

/** Host and port of an address. */
function serverOf(url: string | null): string | null {
  return url === null ? null : (/^[a-z][a-z0-9+.-]*:\/\/([^/?#]+)/i.exec(url)?.[1] ?? null);
}

function note({ parts, errors }: Outage, part: string, error: unknown): void {
  parts.add(part);
  if (typeof error === 'string' && error !== '') errors.add(error);
}

function findingOf({ server, sources, parts, errors, since }: Outage): Finding {
  const names = [...parts];
  const [error] = errors;
  const affected = [server ?? [], listed(names)].flat().join('; ');
  // Without a server, all parts belong to one source, or there is one component.
  const [who = null] = [server ?? [], ...sources, ...parts].flat();
  const cause = error?.replace(/\.$/, '') ?? `${who} is down`;
  return {
    severity: 'critical',
    since,
    subject: who,
    summary: affected === who ? cause : `${cause} (${error === undefined ? listed(names) : affected})`,
    evidence: { parts: names, error: error ?? null },
    look: '/api/components/',
  };
}
