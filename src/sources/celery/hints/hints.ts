/** Reports why data is missing: by the rules, the findings of the diagnosis, and those of broker and result backend. */
import type { Broker } from '../broker.ts';
import { HINT_CODES, type Hint } from '../hint.ts';
import type { ResultBackend } from '../result-backend.ts';
import type { CelerySettings } from '../settings.ts';
import { createDiagnosis, type DiagnosisInput } from './diagnosis.ts';
import type { AccessProblems, HintOptions } from './facts.ts';
import type { Observer } from './observer.ts';
import { type HintInput, RULES } from './rules.ts';

/** Most hints that are shown. */
const MOST_HINTS = 20;

/** The hints of one deployment. Reading them is cheap and sends nothing. */
export interface Hints {
  /** At most 20: first what hides most. */
  all(): readonly Hint[];
  /** Resolves within about a second. */
  close(): Promise<void>;
}

/** The parts of a deployment on which hints depend. */
interface HintedDeployment {
  readonly broker: Broker | null;
  readonly backend: ResultBackend | null;
  readonly control: boolean;
  readonly enableEvents: boolean;
  readonly foreignBroker: string | null;
  readonly foreignBackend: string | null;
  readonly settings: CelerySettings;
}

/** @param problems what could not be read or asked the last time */
export function createHints(
  deployment: HintedDeployment,
  observer: Observer,
  problems: () => AccessProblems,
): Hints {
  const { broker, backend } = deployment;
  const options = optionsOf(deployment);
  const known = (): DiagnosisInput => ({
    facts: observer.facts(),
    broker: broker?.events.state() ?? null,
    backend: backend?.published.state() ?? null,
    now: Date.now(),
  });
  const looks = { events: broker?.diagnose, results: backend?.diagnose, database: backend?.locate };
  const diagnosis = createDiagnosis(looks, known);
  return {
    all() {
      const now = known();
      return hintsFor({ ...now, options, problems: problems() }, diagnosis.hints(now));
    },
    close: () => diagnosis.close(),
  };
}

function optionsOf(deployment: HintedDeployment): HintOptions {
  const { broker, backend, control, enableEvents, foreignBroker, foreignBackend, settings } = deployment;
  return {
    control,
    enableEvents,
    listsMessages: broker?.queues?.listsMessages ?? true,
    foreignBroker,
    foreignBackend,
    hasBackend: backend !== null,
    brokerHint: broker?.deniedHint,
    brokerVersion: broker?.version,
    visibilityMs: broker?.visibilityMs ?? null,
    acksLate: settings.task_acks_late === true,
    backendHint: backend?.deniedHint,
    backendHints: backend?.hints,
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
