/** Marks bundles, so that a bundle made by spreading two of them is noticed. */
import type { MonitorSources, SourcePart } from '../source.ts';

const MARK = 'express-task-monitor.bundle';

/** The same sources with a mark of their own: spreading copies it beside those of other bundles. */
export function markBundle<Sources extends MonitorSources>(sources: Sources): Sources {
  const parts = Object.keys(sources).filter((key) => typeof sources[key as keyof Sources] === 'object');
  return { ...sources, [Symbol(MARK)]: parts };
}

/** The parts that more than one of the bundles has which were spread into this one. */
export function overlapOf(sources: object): readonly string[] {
  const marks = Object.getOwnPropertySymbols(sources).filter(({ description }) => description === MARK);
  const parts = marks.flatMap((mark) => (sources as Record<symbol, readonly string[]>)[mark] ?? []);
  return [...new Set(parts.filter((part, index) => parts.indexOf(part) !== index))];
}

/** The same parts, each with the name of its queueing system. */
export function withEngine<Sources extends MonitorSources>(sources: Sources, engine: string): Sources {
  const named = Object.entries(sources).map(([name, part]) => [
    name,
    typeof part === 'object' ? { ...(part as SourcePart), engine } : part,
  ]);
  return Object.fromEntries(named) as Sources;
}
