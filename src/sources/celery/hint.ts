/** What is wrong with a server, the parts of a hint, and how sentences show names. */
import type { ServerProblem } from '../../server-problems.ts';

/** Stable codes of the hints. Hints are shown in this order: the hint about the most hidden data comes first. */
export const HINT_CODES = [
  'broker_read_only',
  'unsupported_transport',
  'broker_version',
  'wrong_channel',
  'no_workers',
  'events_off',
  'thread_pool',
  'missing_right',
  'serializer',
  'no_results',
  'sent_events_off',
  'result_extended_off',
  'eviction_policy',
  'visibility_timeout',
  'prefetch',
  'no_backend',
  'clock_skew',
] as const;

/** One of {@link HINT_CODES}. */
export type HintCode = (typeof HINT_CODES)[number];

/** The component whose `config.hints` a hint belongs to. */
export type HintComponent = 'broker' | 'backend' | 'collector';

/** Why some data is not shown, and what to change. */
export interface Hint {
  readonly code: HintCode;
  readonly component: HintComponent;
  /** For people. It contains what to write: a setting of Celery, an option of this source, or a command. */
  readonly sentence: string;
}

/** Most names that one sentence lists. */
const MOST_NAMES = 5;
/** Longest name that is shown, in characters. */
const NAME_LENGTH = 100;

/** `a`, `a and b`, or `a, b, c, d, e and 7 more`, sorted. */
export function listed(names: readonly string[]): string {
  const sorted = names.toSorted().map(shown);
  const shownNames = sorted.slice(0, MOST_NAMES);
  const rest = sorted.length - shownNames.length;
  if (rest > 0) return `${shownNames.join(', ')} and ${rest} more`;
  const last = shownNames.pop() ?? '';
  return shownNames.length === 0 ? last : `${shownNames.join(', ')} and ${last}`;
}

/** A name that another process chose: cut, and without control characters. */
export function shown(name: string): string {
  const plain = name.replace(/\p{C}/gu, '?');
  return plain.length > NAME_LENGTH ? `${plain.slice(0, NAME_LENGTH)}…` : plain;
}

/** A string literal that JavaScript and Python both accept. */
export function quoted(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&').replace(/\p{C}/gu, escaped)}'`;
}

/** Escapes each UTF-16 unit: a lone surrogate has no code point of its own. */
function escaped(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}

/** A problem of a broker or a result backend. */
export interface Problem extends ServerProblem {
  /**
   * The rights to give to the user, in the words of the server (for Redis, rules of `ACL SETUSER`);
   * `null` or absent when something else is wrong.
   */
  readonly missingRights?: string | null;
}

/**
 * The problem that an error of a broker or a result backend carries in its `problem`.
 *
 * @returns a problem with the code `UNKNOWN` for any other error
 */
export function problemOf(error: unknown): Problem {
  const problem = (error as { readonly problem?: Partial<Problem> } | null | undefined)?.problem;
  return typeof problem?.code === 'string' && typeof problem.sentence === 'string'
    ? (problem as Problem)
    : { code: 'UNKNOWN', sentence: 'An unexpected error occurred.' };
}
