import { debugChannel } from '../debug.ts';
import type { MonitorErrorContext, OnError } from '../options.ts';

/** The origin of an error. */
export type ReportContext = Omit<MonitorErrorContext, 'suppressed'>;

/** Reports an error to the host. Never throws. */
export type Report = (error: unknown, context: ReportContext) => void;

/** Options of {@link createReport}. */
export interface ReportOptions {
  readonly onError: OnError | null;
  /** Removes secrets from a text. */
  readonly redact: (text: string) => string;
  /** Monotonic milliseconds; for tests. */
  readonly now?: () => number;
}

// In an outage every request fails with the same error: one report in 30 seconds is enough.
const QUIET_MS = 30_000;
const MOST_KINDS = 500;
const LONGEST = 200;

const debug = debugChannel('error');

/** Creates a report function that suppresses repeated errors. */
export function createReport({ onError, redact, now = () => performance.now() }: ReportOptions): Report {
  const kinds = new Map<string, { at: number; suppressed: number }>();

  /** Number of suppressed errors of this kind; `null` when this one is suppressed, too. */
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
      // An async function also has this type: its rejection must not be unhandled.
      new Promise((adopt) => adopt(result)).catch(() => {});
    } catch {
      // The host's own handler failed: there is nowhere else to report to.
    }
  };
}

// JSON escapes only the ASCII control characters; terminals interpret others, too.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Describes a thrown value in one line, without secrets, line breaks and terminal control characters. */
function describe(error: unknown, redact: (text: string) => string): string {
  try {
    const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    const line = JSON.stringify(redact(text.slice(0, 10 * LONGEST)).slice(0, LONGEST));
    return line.replace(UNSEEN, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
  } catch {
    return '[Unreadable]';
  }
}
