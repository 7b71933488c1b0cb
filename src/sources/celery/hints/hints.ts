/** Reports why data is missing: by the rules, the findings of the diagnosis, and those of broker and result backend. */
import type { ConnectionState } from '../../../kept-connection.ts';
import { HINT_CODES, type Hint } from '../hint.ts';
import type { Problem } from '../problem.ts';
import { createDiagnosis, type Diagnoses, type DiagnosisInput, type DiagnosisTimes } from './diagnosis.ts';
import type { AccessProblems, HintOptions } from './facts.ts';
import type { Observer } from './observer.ts';
import { type HintInput, RULES, workersWithoutEvents } from './rules.ts';

/** Most hints that are shown. */
const MOST_HINTS = 20;

interface Connected {
  state(): ConnectionState<Problem>;
}

/** The hints of one deployment. Reading them is cheap and sends nothing. */
export interface Hints {
  /** At most 20: first what hides most. */
  all(): readonly Hint[];
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

  return {
    all() {
      const now = known();
      return hintsFor({ ...now, options, problems: problems() }, diagnosis.hints(now));
    },
    silentWorkers: () => workersWithoutEvents(known()),
    close: () => diagnosis.close(),
  };
}

/** The same input gives the same hints in the same order. */
function hintsFor(input: HintInput, diagnosed: readonly Hint[]): Hint[] {
  const { backendHints } = input.options;
  const found = [...denied(input), ...diagnosed];
  const known = [...found, ...(backendHints?.() ?? [])];
  const sentences = new Set(known.map(({ sentence }) => sentence));
  const hasPlace = known.some(({ code }) => code === 'no_results');
  // Where results are says more than that none arrive.
  const others = judged(input).filter(({ code }) => code !== 'no_results' || !hasPlace);
  const distinct = known.filter(({ sentence }) => sentences.delete(sentence));
  return [...distinct, ...others]
    .sort((a, b) => HINT_CODES.indexOf(a.code) - HINT_CODES.indexOf(b.code))
    .slice(0, MOST_HINTS);
}

function judged(input: HintInput): Hint[] {
  return RULES.flatMap(({ code, component, sentence: sentenceOf }) => {
    const sentence = sentenceOf(input);
    return sentence === null ? [] : [{ code, component, sentence }];
  });
}

/** Evidence: the answer NOPERM, or that the broker accepts no writes. */
function denied({ options, problems, broker, backend }: HintInput): Hint[] {
  const { brokerHint, backendHint } = options;
  const hints: (Hint | null | undefined)[] = [];
  if (problems.broker !== null) hints.push(brokerHint?.('writes'));
  if (broker?.problem?.code === 'NOPERM') hints.push(brokerHint?.('events'));
  if (backend?.problem?.code === 'NOPERM') hints.push(backendHint?.('published'));
  if (problems.results?.code === 'NOPERM') hints.push(backendHint?.('stored'));
  for (const access of ['queues', 'schedules', 'control'] as const) {
    if (problems[access]?.code === 'NOPERM') hints.push(brokerHint?.(access));
  }
  return hints.filter((hint) => hint !== null && hint !== undefined);
}
