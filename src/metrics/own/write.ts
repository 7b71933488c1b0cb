/** Writes an exposition. The only place that imports the package `prom-client`, and that only for a scrape. */
import type { Registry } from 'prom-client';
import { MonitorError } from '../../errors.ts';
import { failedImport, type ServerProblem } from '../../server-problems.ts';
import type { Chunk } from './values.ts';

/** The used exports of prom-client 15. */
type PromClient = Pick<typeof import('prom-client'), 'Registry'>;

/** Prometheus text, or OpenMetrics. */
export type Format = 'text' | 'openmetrics';

/** A whole exposition. */
export interface Exposition {
  readonly contentType: string;
  readonly text: string;
}

class Missing extends MonitorError {
  constructor({ sentence }: ServerProblem) {
    super('exporter_unavailable', sentence);
  }
}

/** Rejects with `exporter_unavailable`, and what to install, when the host has not installed it. */
export async function loadPromClient(): Promise<PromClient> {
  try {
    return await import('prom-client');
  } catch (error) {
    throw failedImport('prom-client', error, Missing);
  }
}

/** Writes chunks; a registry writes a whole metric in one go, so each chunk is a metric of its own. */
export async function writeExposition(
  { Registry: PromRegistry }: PromClient,
  format: Format,
  chunks: AsyncIterable<Chunk>,
): Promise<Exposition> {
  const isOpen = format === 'openmetrics';
  const type = isOpen ? PromRegistry.OPENMETRICS_CONTENT_TYPE : PromRegistry.PROMETHEUS_CONTENT_TYPE;
  // The types of prom-client know the constructor without its argument.
  const registry: Registry = new (PromRegistry as new (contentType: string) => Registry)(type);
  const texts: string[] = [];
  for await (const { family, isFirst, values } of chunks) {
    const name = isOpen && family.type === 'counter' ? family.name.replace(/_total$/, '') : family.name;
    const metric = { name, help: family.help, type: family.type, values, get: () => metric };
    registry.registerMetric(metric as never);
    const text = await registry.getSingleMetricAsString(name);
    registry.removeSingleMetric(name);
    // HELP and TYPE come once.
    texts.push(isFirst ? text : text.slice(text.indexOf('\n', text.indexOf('\n') + 1) + 1));
  }
  if (isOpen) texts.push('# EOF');
  return { contentType: type, text: `${texts.join('\n')}\n` };
}
