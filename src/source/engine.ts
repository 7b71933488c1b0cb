/** Names the queueing system of a source. */
import type { MonitorSources, SourcePart } from '../source.ts';

/** The same parts, each with the name of its queueing system. */
export function withEngine<Sources extends MonitorSources>(sources: Sources, engine: string): Sources {
  const named = Object.entries(sources).map(([name, part]) => [
    name,
    typeof part === 'object' ? { ...(part as SourcePart), engine } : part,
  ]);
  return Object.fromEntries(named) as Sources;
}
