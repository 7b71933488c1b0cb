/** Marks bundles, so that a bundle made by spreading them wrongly is noticed. */
import type { MonitorSources, SourcePart } from '../source.ts';

type Redact = NonNullable<MonitorSources['redact']>;

interface Mark {
  readonly parts: readonly string[];
  /** The rules by which the bundle masks its texts. */
  readonly redact: Redact;
}

const MARK = 'express-task-monitor.bundle';

/**
 * The same sources with their rules, and with a mark of their own: spreading copies it beside those of other bundles.
 *
 * @param redact default: the built-in rules
 */
export function markBundle<Sources extends MonitorSources>(
  sources: Sources,
  redact: Redact = {},
): Sources & { readonly redact: Redact } {
  const parts = Object.keys(sources).filter((key) => typeof sources[key as keyof Sources] === 'object');
  const mark: Mark = { parts, redact };
  return { ...sources, redact, [Symbol(MARK)]: mark };
}

function marksOf(sources: object): readonly Mark[] {
  const marks = Object.getOwnPropertySymbols(sources).filter(({ description }) => description === MARK);
  return marks.map((mark) => (sources as Record<symbol, Mark>)[mark] as Mark);
}

/** The parts that more than one of the bundles has which were spread into this one. */
export function overlapOf(sources: object): readonly string[] {
  const parts = marksOf(sources).flatMap((mark) => mark.parts);
  return [...new Set(parts.filter((part, index) => parts.indexOf(part) !== index))];
}

/** Whether a bundle that was spread into this one has masked its texts by other rules than this one has. */
export function masksOtherwise(sources: MonitorSources): boolean {
  return marksOf(sources).some(({ redact }) => redact !== false && redact !== sources.redact);
}

/** The same parts, each with the name of its queueing system. */
export function withEngine<Sources extends MonitorSources>(sources: Sources, engine: string): Sources {
  const named = Object.entries(sources).map(([name, part]) => [
    name,
    typeof part === 'object' ? { ...(part as SourcePart), engine } : part,
  ]);
  return Object.fromEntries(named) as Sources;
}
