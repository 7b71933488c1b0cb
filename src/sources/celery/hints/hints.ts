/** Says why the screen is empty: puts together what was observed, what was found, and the rules. */
import type { ConnectionState } from '../connection-state.ts';
import { workersWithoutEvents } from './event-rules.ts';
import type { HintOptions } from './facts.ts';
import { NO_FINDINGS } from './findings.ts';
import type { Hint, HintComponent } from './hint.ts';
import { hintsFor } from './hints-for.ts';
import type { Observer } from './observer.ts';
import { createProbe, type KnownInput, type ProbeTimes } from './probe.ts';

interface Connected {
  state(): ConnectionState;
}

/** The hints of one deployment. Reading them costs little and asks nobody. */
export interface Hints {
  /** Sentences, the most blinding first; at most 20. */
  hints(): string[];
  /** The same with code, component and line. */
  details(): Hint[];
  /** The sentences by the component whose `config.hints` they belong to. */
  byComponent(): Readonly<Record<HintComponent, readonly string[]>>;
  /** Workers that run tasks of which no event tells. */
  silentWorkers(): string[];
  /** Resolves within about a second. */
  close(): Promise<void>;
}

/**
 * @param observer that is told what comes in
 * @param connections that it comes over; a collector has them
 * @param times for tests; in milliseconds
 */
export function createHints(
  options: HintOptions,
  observer: Observer,
  connections: { readonly events: Connected | null; readonly results: Connected | null },
  times?: ProbeTimes,
): Hints {
  const known = (): KnownInput => ({
    options,
    facts: observer.facts(),
    broker: connections.events?.state() ?? null,
    backend: connections.results?.state() ?? null,
    now: Date.now(),
  });
  const probe = createProbe(options, known, times);
  const details = (): Hint[] => hintsFor({ ...known(), findings: probe.findings() });

  return {
    details,
    hints: () => details().map(({ sentence }) => sentence),
    byComponent() {
      const all = details();
      const of = (key: HintComponent): string[] =>
        all.filter(({ component }) => component === key).map(({ sentence }) => sentence);
      return { broker: of('broker'), backend: of('backend'), collector: of('collector') };
    },
    silentWorkers: () => workersWithoutEvents({ ...known(), findings: NO_FINDINGS }),
    close: () => probe.close(),
  };
}
