/** Writes an exposition. The only file that imports the package `prom-client`, and only for a scrape. */
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

/** Rejects with `exporter_unavailable`, and what to install, if the package is not installed. */
export async function loadPromClient(): Promise<PromClient> {
  try {
    return await import('prom-client');
  } catch (error) {
    throw failedImport('prom-client', error, Missing);
  }
}

/** Writes chunks. A registry writes a whole metric without a pause, so each chunk is written as its own metric. */
export async function writeExposition(
  { Registry: PromRegistry }: PromClient,
  format: Format,
  chunks: AsyncIterable<Chunk>,
): Promise<Exposition> {
  const isOpen = format === 'openmetrics';
  const type = isOpen ? PromRegistry.OPENMETRICS_CONTENT_TYPE : PromRegistry.PROMETHEUS_CONTENT_TYPE;
  // The types of prom-client declare the constructor without its argument.
  const registry: Registry = new (PromRegistry as new (contentType: string) => Registry)(type);
  const texts: string[] = [];
  for await (const { family, isFirst, values } of chunks) {
    const name = isOpen && family.type === 'counter' ? family.name.replace(/_total$/, '') : family.name;
    const metric = { name, help: family.help, type: family.type, values, get: () => metric };
    registry.registerMetric(metric as never);
    const text = await registry.getSingleMetricAsString(name);
    registry.removeSingleMetric(name);
    // HELP and TYPE are written only once.
    texts.push(isFirst ? text : text.slice(text.indexOf('\n', text.indexOf('\n') + 1) + 1));
  }
  if (isOpen) texts.push('# EOF');
  return { contentType: type, text: `${texts.join('\n')}\n` };
}
