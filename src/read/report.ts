import { debugChannel } from '../debug.ts';
import type { MonitorErrorContext, OnError } from '../options.ts';

/** Where an error came from. */
export type ReportContext = Omit<MonitorErrorContext, 'suppressed'>;

/** Tells the host what went wrong behind an answer. Never throws. */
export type Report = (error: unknown, context: ReportContext) => void;

/** What a {@link Report} needs. */
export interface ReportOptions {
  readonly onError: OnError | null;
  /** Takes secrets out of a text. */
  readonly redact: (text: string) => string;
  /** Monotonic milliseconds; for tests. */
  readonly now?: () => number;
}

// An outage fails every request alike: one line in half a minute says as much as a thousand.
const QUIET_MS = 30_000;
const MOST_KINDS = 500;
const LONGEST = 200;

const debug = debugChannel('error');

export function createReport({ onError, redact, now = () => performance.now() }: ReportOptions): Report {
  const kinds = new Map<string, { at: number; suppressed: number }>();

  /** How many like it were kept back; `null` when this one is, too. */
  function admit(kind: string): number | null {
    const known = kinds.get(kind);
    if (known !== undefined && now() - known.at < QUIET_MS) {
      known.suppressed += 1;
      return null;
    }
    if (kinds.size >= MOST_KINDS) kinds.clear();
    kinds.set(kind, { at: now(), suppressed: 0 });
    return known?.suppressed ?? 0;
  }

  return function report(error, context) {
    const suppressed = admit(`${context.source}\n${context.call}\n${context.code}`);
    if (suppressed === null) return;
    debug('%s %s: %s: %s', context.source ?? '-', context.call, context.code, describe(error, redact));
    if (onError === null) return;
    try {
      const result: unknown = onError(error, { ...context, suppressed });
      // The type says `void`, yet an async function fits it: its rejection must not reach the process.
      new Promise((adopt) => adopt(result)).catch(() => {});
    } catch {
      // There is nobody else to tell.
    }
  };
}

// JSON escapes what ASCII has of these; a terminal also obeys the others.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** One line of what was thrown, which may be anything, without secrets, line breaks and commands to a terminal. */
function describe(error: unknown, redact: (text: string) => string): string {
  try {
    const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    const line = JSON.stringify(redact(text.slice(0, 10 * LONGEST)).slice(0, LONGEST));
    return line.replace(UNSEEN, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
  } catch {
    return '[Unreadable]';
  }
}
