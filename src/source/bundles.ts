/** Bundles of sources: marks, which show that some were spread into another, and who uses them. */
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

interface Registry {
  /** Number of users of a source, by the result of {@link identityOf}. */
  readonly users: WeakMap<object, number>;
  /** The bundles of a combination, by its `close`. */
  readonly combinations: WeakMap<object, readonly MonitorSources[]>;
}

/** Shared by the ESM and CommonJS entries. A version with another interface has another key. */
const KEY = Symbol.for('express-task-monitor.source-users.1');

const { users, combinations } = sharedRegistry(globalThis as { [KEY]?: Registry });

function sharedRegistry(holder: { [KEY]?: Registry }): Registry {
  holder[KEY] ??= { users: new WeakMap(), combinations: new WeakMap() };
  return holder[KEY];
}

/** Records that these sources are a combination of others. */
export function noteCombination(sources: MonitorSources, bundles: readonly MonitorSources[]): void {
  combinations.set(identityOf(sources), bundles);
}

/**
 * Begins to use sources.
 *
 * @returns ends the use, to be called once: closes each source without other users. Rejects with what closing
 *   throws
 */
export function useSources(sources: MonitorSources): () => Promise<void> {
  const used = membersOf(sources);
  for (const one of used) users.set(identityOf(one), countOf(one) + 1);
  return function leave() {
    for (const one of used) users.set(identityOf(one), countOf(one) - 1);
    return closeAll(used.filter((one) => countOf(one) === 0));
  };
}

/** Closes all of them, even if some fail. */
export async function closeAll(bundles: readonly MonitorSources[]): Promise<void> {
  const ends = await Promise.allSettled(bundles.map(async (bundle) => bundle.close?.()));
  const errors = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : []));
  if (errors.length === 1) throw errors[0];
  if (errors.length > 1) throw new AggregateError(errors, 'Several sources could not be closed.');
}

function membersOf(sources: MonitorSources): readonly MonitorSources[] {
  return combinations.get(identityOf(sources))?.flatMap(membersOf) ?? [sources];
}

function countOf(sources: MonitorSources): number {
  return users.get(identityOf(sources)) ?? 0;
}

/** `{ ...sources, schedules }` is another object with the same `close`; a class has one `close` for all objects. */
function identityOf(sources: MonitorSources): object {
  return Object.hasOwn(sources, 'close') && typeof sources.close === 'function' ? sources.close : sources;
}
