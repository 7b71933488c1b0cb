import { debugChannel } from '../debug.ts';
import type { MonitorErrorCode } from '../errors.ts';
import type { MonitorErrorContext, OnError } from '../options.ts';

/** Reports an error to the host. Never throws. */
export type Report = (error: unknown, context: Omit<MonitorErrorContext, 'suppressed'>) => void;

// In an outage every request fails with the same error: one report in 30 seconds is enough.
const QUIET_MS = 30_000;
const MOST_KINDS = 500;
const LONGEST = 200;

const debug = debugChannel('error');

/**
 * Creates a report function that suppresses repeated errors.
 *
 * @param onError `null`: mistakes of the host are printed as warnings of the process, once per code
 * @param redact removes secrets from a text
 */
export function createReport(onError: OnError | null, redact: (text: string) => string): Report {
  const kinds = new Map<string, { at: number; suppressed: number }>();
  const hook = onError ?? createWarner(redact);

  /** Number of suppressed errors of this kind; `null` when this one is suppressed, too. */
  function admit(kind: string): number | null {
    const known = kinds.get(kind);
    const at = performance.now();
    if (known !== undefined && at - known.at < QUIET_MS) {
      known.suppressed += 1;
      return null;
    }
    if (kinds.size >= MOST_KINDS) kinds.clear();
    kinds.set(kind, { at, suppressed: 0 });
    return known?.suppressed ?? 0;
  }

  return function report(error, context) {
    const suppressed = admit(`${context.source}\n${context.call}\n${context.code}`);
    if (suppressed === null) return;
    debug('%s %s: %s: %s', context.source ?? '-', context.call, context.code, describe(error, redact));
    try {
      const result: unknown = hook(error, { ...context, suppressed });
      // An async function also has this type: its rejection must not be unhandled.
      new Promise((adopt) => adopt(result)).catch(() => {});
    } catch {
      // The host's own handler failed: there is nowhere else to report to.
    }
  };
}

/** Codes that the host can do something about. Express prints bugs (`null`), and overload passes by itself. */
const MISTAKES: ReadonlySet<MonitorErrorCode | null> = new Set<MonitorErrorCode>([
  'forbidden',
  'source_invalid',
  'source_unavailable',
  'source_timeout',
  'exporter_invalid',
  'exporter_unavailable',
  'exporter_timeout',
]);

/** For hosts without `onError`: a warning for the first error of each code. */
function createWarner(redact: (text: string) => string): OnError {
  const warned = new Set<MonitorErrorCode | null>();
  return (error, { code, source, call }) => {
    if (!MISTAKES.has(code) || warned.has(code)) return;
    warned.add(code);
    const origin = source === null ? call : `${source}, ${call}`;
    const more = 'Further errors of this kind are not printed: set onError to receive them.';
    process.emitWarning(`${describe(error, redact)} (${origin}). ${more}`, {
      type: 'ExpressTaskMonitorWarning',
      code: `EXPRESS_TASK_MONITOR_${String(code).toUpperCase()}`,
    });
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
