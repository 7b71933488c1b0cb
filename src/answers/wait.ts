/** Why something waits. Times are milliseconds since 1970. */
import type { WaitBody } from '../wire.ts';

/** Why a task or the tasks of a queue wait. */
export interface Wait {
  readonly code: WaitBody['code'];
  /** One sentence for people. */
  readonly summary: string;
  /** When the wait will end, known or estimated; `null`: unknown. */
  readonly until: number | null;
  /** Since when it waits; `null`: unknown. */
  readonly since: number | null;
  /** Figures and names behind it. */
  readonly evidence: Readonly<Record<string, string | number | boolean | null>>;
}

/** @param known what is known beyond code and sentence */
export function wait(code: Wait['code'], summary: string, known: Partial<Wait> = {}): Wait {
  return { code, summary, until: null, since: null, evidence: {}, ...known };
}

/** A time in words: without its date if that is today, in UTC. */
export function timeInWords(time: number, now: number): string {
  const [day, clock] = new Date(time).toISOString().slice(0, 19).split('T') as [string, string];
  const isToday = new Date(now).toISOString().startsWith(day);
  return isToday ? `${clock} UTC` : `${day} ${clock} UTC`;
}
