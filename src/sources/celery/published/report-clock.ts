/** The age of the reports of the instance that collects. Clocks of other machines are not trusted. */
import type { SharedTexts } from '../../../history/stored-history.ts';
import { KINDS, readReport, type StatusReport } from './reports.ts';

const INTERVAL_MS = 1_000;
/** A report is written each second. An older one shows that no instance collects. */
const STALE_AFTER_MS = 5_000;

/** The last status, and how old it is. */
export interface ReportClock {
  /** `null`: there was no report, or this version cannot read it. */
  status(): StatusReport | null;
  /** Approximate milliseconds since the status was written; infinite without one. */
  age(): number;
  /** A sentence if reports have stopped, or never began. `null`: reports arrive. */
  silence(): string | null;
  close(): void;
}

interface State {
  readonly texts: SharedTexts;
  readonly onTakeover: () => void;
  text: string | null;
  status: StatusReport | null;
  /** When it was written, by the monotonic clock of this process. */
  writtenAt: number;
}

/**
 * Looks at once, and then once a second.
 *
 * @param onTakeover is called when another instance begins to report
 */
export function createReportClock(texts: SharedTexts, onTakeover: () => void): ReportClock {
  const state: State = { texts, onTakeover, text: null, status: null, writtenAt: Number.NEGATIVE_INFINITY };
  const timer = setInterval(() => look(state), INTERVAL_MS).unref();
  const age = (): number => {
    look(state);
    return performance.now() - state.writtenAt;
  };
  return {
    status() {
      look(state);
      return state.status;
    },
    age,
    silence() {
      const old = age();
      if (state.status === null) return 'No instance that collects has reported anything yet.';
      if (old <= STALE_AFTER_MS) return null;
      const since = Number.isFinite(old) ? `for ${Math.round(old / 1000)} seconds` : 'lately';
      return `No instance that collects has reported anything ${since}.`;
    },
    close: () => clearInterval(timer),
  };
}

function look(state: State): void {
  const text = state.texts.read(KINDS.status);
  if (text === state.text) return;
  const isFirst = state.text === null;
  const before = state.status;
  state.text = text;
  state.status = text === null ? null : readReport<StatusReport>(text);
  const { status } = state;
  if (before !== null && status !== null && before.since !== status.since) state.onTakeover();
  // A change was written within the last two seconds. The first text may have been there for long.
  state.writtenAt = isFirst ? firstWrite(state.status) : performance.now();
}

function firstWrite(status: StatusReport | null): number {
  const age = status === null ? Number.POSITIVE_INFINITY : Math.abs(Date.now() - status.at);
  return age <= STALE_AFTER_MS ? performance.now() - age : Number.NEGATIVE_INFINITY;
}
