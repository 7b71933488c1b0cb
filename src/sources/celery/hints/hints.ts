/** Reports why data is missing, from observations, findings of the diagnosis, and the rules. */
import type { ConnectionState } from '../connection-state.ts';
import type { Hint, HintComponent } from '../hint.ts';
import { createDiagnosis, type Diagnoses, type DiagnosisInput, type DiagnosisTimes } from './diagnosis.ts';
import { workersWithoutEvents } from './event-rules.ts';
import type { AccessProblems, HintOptions } from './facts.ts';
import { hintsFor } from './hints-for.ts';
import type { HintInput } from './input.ts';
import type { Observer } from './observer.ts';

interface Connected {
  state(): ConnectionState;
}

/** The hints of one deployment. Reading them is cheap and sends nothing. */
export interface Hints {
  /** At most 20; the one that hides most comes first. */
  details(): Hint[];
  /** The sentences by the component whose `config.hints` they belong to. */
  byComponent(): Readonly<Record<HintComponent, readonly string[]>>;
  /** Workers that run tasks about which no event arrives. */
  silentWorkers(): string[];
  /** Resolves within about a second. */
  close(): Promise<void>;
}

/** The data from which hints are made. */
export interface HintParts {
  readonly options: HintOptions;
  readonly observer: Observer;
  /** What could not be read or asked the last time. */
  readonly problems: () => AccessProblems;
  /** The connection over which events arrive; `null` without one. */
  readonly events: Connected | null;
  /** The connection over which results arrive; `null` without one. */
  readonly results: Connected | null;
  readonly diagnoses: Diagnoses;
  /** For tests. */
  readonly times?: DiagnosisTimes;
}

export function createHints({
  options,
  observer,
  problems,
  events,
  results,
  diagnoses,
  times,
}: HintParts): Hints {
  const known = (): DiagnosisInput => ({
    facts: observer.facts(),
    broker: events?.state() ?? null,
    backend: results?.state() ?? null,
    now: Date.now(),
  });
  const diagnosis = createDiagnosis(diagnoses, known, times);
  const inputOf = (now: DiagnosisInput): HintInput => ({
    ...now,
    options,
    problems: problems(),
    found: diagnosis.hints(now),
  });
  const details = (): Hint[] => hintsFor(inputOf(known()));

  return {
    details,
    byComponent() {
      const all = details();
      const of = (key: HintComponent): string[] =>
        all.filter(({ component }) => component === key).map(({ sentence }) => sentence);
      return { broker: of('broker'), backend: of('backend'), collector: of('collector') };
    },
    silentWorkers: () => workersWithoutEvents(known()),
    close: () => diagnosis.close(),
  };
}
