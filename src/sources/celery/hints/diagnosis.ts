/** Asks broker and result backend once, when nothing arrives, where else events and results might be. */
import type { Hint } from '../hint.ts';
import { type HintInput, resultsSeen, upFor } from './rules.ts';

/** The questions of the diagnosis. Each answer may take some seconds; a rejection counts as no finding. */
export interface Diagnoses {
  /** Where else events are published. Absent where the broker cannot look. */
  readonly events?: ((signal: AbortSignal) => Promise<readonly Hint[]>) | undefined;
  /** Where else results are stored. */
  readonly results?: ((signal: AbortSignal) => Promise<readonly Hint[]>) | undefined;
  /** Where the published result of this task is stored. */
  readonly database?: ((taskId: string, signal: AbortSignal) => Promise<readonly Hint[]>) | undefined;
}

/** How often the need for a diagnosis is checked, in milliseconds. */
const TICK_MS = 1_000;
/** How long nothing must have arrived, in milliseconds. */
const QUIET_MS = 10_000;

/** Diagnoses by itself, each thing once for each connection. */
export interface Diagnosis {
  /** Findings that later messages have not refuted. */
  hints(input: DiagnosisInput): Hint[];
  /** Ends running diagnoses. Resolves within about a second. */
  close(): Promise<void>;
}

/** The data that decides whether a diagnosis is needed. */
export type DiagnosisInput = Pick<HintInput, 'facts' | 'broker' | 'backend' | 'now'>;

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
export function createDiagnosis(diagnoses: Diagnoses, input: () => DiagnosisInput): Diagnosis {
  const closing = new AbortController();
  const looks = looksOf(diagnoses);

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
    hints: (now) => looks.flatMap((look) => (look.isRefuted(now) ? [] : look.found)),
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

function looksOf({ events, results, database }: Diagnoses): Look[] {
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
