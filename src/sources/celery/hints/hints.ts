/** Reports why data is missing: by the rules, the findings of the diagnosis, and those of broker and result backend. */
import type { BrokerEvents } from '../broker.ts';
import { HINT_CODES, type Hint } from '../hint.ts';
import type { AccessProblems, Observer } from './observer.ts';
import {
  type HintedDeployment,
  type HintInput,
  RULES,
  resultsSeen,
  upFor,
  workersWithoutEvents,
} from './rules.ts';

/** Most hints that are shown. */
const MOST_HINTS = 20;

/** The hints of one deployment. Reading them is cheap and sends nothing. */
export type Hints = ReturnType<typeof createHints>;

/** @param problems what could not be read or asked the last time */
export function createHints(
  deployment: HintedDeployment,
  observer: Observer,
  problems: () => AccessProblems,
) {
  const { broker, backend } = deployment;
  const known = (): DiagnosisInput => ({
    facts: observer.facts(),
    broker: broker?.events.state() ?? null,
    backend: backend?.published.state() ?? null,
    now: Date.now(),
  });
  const diagnosis = createDiagnosis(deployment, known);
  return {
    /** At most 20: first what hides most. */
    all() {
      const now = known();
      return hintsFor({ ...now, deployment, problems: problems() }, diagnosis.hints(now));
    },
    /** Resolves within about a second. */
    close: () => diagnosis.close(),
  };
}

/** The same input gives the same hints in the same order. */
function hintsFor(input: HintInput, diagnosed: readonly Hint[]): Hint[] {
  const { broker, backend } = input.deployment;
  const found = [...denied(input), ...diagnosed];
  const known = [...found, ...(broker?.hints?.() ?? []), ...(backend?.hints?.() ?? [])];
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
function denied({ deployment, problems, ...connections }: HintInput): Hint[] {
  const { broker, backend } = deployment;
  const hints: (Hint | null | undefined)[] = [];
  if (problems.broker !== null) hints.push(broker?.deniedHint('writes'));
  if (connections.broker?.problem?.code === 'NOPERM') hints.push(broker?.deniedHint('events'));
  if (connections.backend?.problem?.code === 'NOPERM') hints.push(backend?.deniedHint('published'));
  if (problems.results?.code === 'NOPERM') hints.push(backend?.deniedHint('stored'));
  for (const access of ['queues', 'schedules', 'control'] as const) {
    if (problems[access]?.code === 'NOPERM') hints.push(broker?.deniedHint(access));
  }
  return hints.filter((hint) => hint !== null && hint !== undefined);
}

/** How often the need for a diagnosis is checked, in milliseconds. */
const TICK_MS = 1_000;
/** How long nothing must have arrived, in milliseconds. */
const QUIET_MS = 10_000;

/** The data that decides whether a diagnosis is needed. */
type DiagnosisInput = Pick<HintInput, 'facts' | 'broker' | 'backend' | 'now'>;

/** One thing to look for. */
interface Look {
  readonly run: (input: DiagnosisInput, signal: AbortSignal) => Promise<readonly Hint[]>;
  /** Identifies the connection over which nothing arrives; `null` while it is down. */
  readonly connection: (input: DiagnosisInput) => number | null;
  readonly isNeeded: (input: DiagnosisInput) => boolean;
  readonly isRefuted: (input: DiagnosisInput) => boolean;
  /** The connection for which it was run. */
  done: number | null;
  found: readonly Hint[];
  running: Promise<void> | null;
}

/** @param input the present state */
function createDiagnosis(deployment: HintedDeployment, input: () => DiagnosisInput) {
  const closing = new AbortController();
  const looks = looksOf(deployment);

  function check(): void {
    const now = input();
    for (const look of looks) {
      const connection = look.connection(now);
      if (connection === null || connection === look.done || look.running !== null) continue;
      if (look.isNeeded(now)) {
        look.done = connection;
        look.running = runLook(look, now, closing.signal);
      }
    }
  }

  const ticker = setInterval(check, TICK_MS).unref();
  return {
    /** Findings that later messages have not refuted. */
    hints: (now: DiagnosisInput) => looks.flatMap((look) => (look.isRefuted(now) ? [] : look.found)),
    /** Ends running diagnoses. Resolves within about a second. */
    async close() {
      clearInterval(ticker);
      closing.abort();
      await Promise.all(looks.map(({ running }) => running));
    },
  };
}

async function runLook(look: Look, input: DiagnosisInput, signal: AbortSignal): Promise<void> {
  look.found = await look.run(input, signal).catch(() => []);
  look.running = null;
}

/** What is looked for, as far as broker and backend can. Each may take some seconds; a rejection counts as no finding. */
function looksOf(deployment: HintedDeployment): Look[] {
  const events = deployment.broker?.diagnose;
  const { diagnose: results, locate: database } = deployment.backend ?? {};
  const ofBackend = ({ backend }: DiagnosisInput): number | null =>
    backend?.up === true ? backend.since : null;
  const looks: Omit<Look, 'done' | 'found' | 'running'>[] = [];
  if (events !== undefined) {
    looks.push({
      run: (_, signal) => events(signal),
      connection: ({ broker }) => (broker?.up === true ? broker.since : null),
      isNeeded: eventsAreMissing,
      isRefuted: ({ facts }) => facts.events > 0,
    });
  }
  if (results !== undefined) {
    looks.push({
      run: (_, signal) => results(signal),
      connection: ofBackend,
      isNeeded: resultsAreMissing,
      isRefuted: ({ facts }) => resultsSeen(facts) > 0,
    });
  }
  if (database !== undefined) {
    looks.push({
      run: ({ facts }, signal) => database(facts.results.lastId ?? '', signal),
      connection: ofBackend,
      isNeeded: ({ facts }) => facts.results.lastId !== null,
      isRefuted: () => false,
    });
  }
  return looks.map((look) => ({ ...look, done: null, found: [], running: null }));
}

function eventsAreMissing({ facts, broker, now }: DiagnosisInput): boolean {
  return facts.events === 0 && upFor(broker, now) >= QUIET_MS;
}

/** No result has arrived though tasks have ended, or nothing at all has arrived. */
function resultsAreMissing(input: DiagnosisInput): boolean {
  const { facts, backend, now } = input;
  if (resultsSeen(facts) > 0 || upFor(backend, now) < QUIET_MS) return false;
  const hasFinished = facts.firstFinished !== null && now - facts.firstFinished >= QUIET_MS;
  return hasFinished || eventsAreMissing(input);
}

/** What the events of a deployment show, and whether tasks may run that nothing here reports. */
export type Sight = ReturnType<typeof createSight>;

/** @param events `null` where the broker cannot be read */
export function createSight(observer: Observer, events: BrokerEvents | null) {
  const silentWorkers = (): readonly string[] =>
    workersWithoutEvents({ facts: observer.facts(), broker: events?.state() ?? null, now: Date.now() });

  function blind(): string | null {
    if (events === null) return 'The events of this broker cannot be read.';
    const silent = silentWorkers();
    if (silent.length > 0) return `${silent.length} of the workers send no events, such as ${silent[0]}.`;
    return observer.facts().hasTaskEvents ? null : 'No worker has reported a task yet.';
  }

  return {
    /** Workers that run tasks about which no event arrives. */
    silentWorkers,
    /** Why tasks may run unobserved; `null`: nothing is known to hide them. */
    blind,
    /** Whether tasks may run that no event has reported yet. */
    isDeaf: () => events === null || !events.state().up || events.isBehind?.() === true || blind() !== null,
  };
}
