/** What a hint is, and how its parts are written. */
import type { RedisEndpoint } from '../../../redis/endpoint.ts';

/** Stable names of the hints, the most blinding first; hints are shown in this order. */
export const HINT_CODES = [
  'acl_events',
  'foreign_broker',
  'wrong_channel',
  'wrong_database',
  'acl_probe',
  'event_serializer',
  'no_workers',
  'events_off',
  'acl_result_channel',
  'acl_results',
  'acl_queues',
  'acl_schedules',
  'wrong_result_prefix',
  'wrong_result_database',
  'no_results',
  'foreign_backend',
  'result_serializer',
  'sent_events_off',
  'track_started_off',
  'result_extended_off',
  'result_extended_off_restart',
  'no_backend',
  'acl_control',
  'control_serializer',
  'clock_skew',
] as const;

/** One of {@link HINT_CODES}. */
export type HintCode = (typeof HINT_CODES)[number];

/** The component whose `config.hints` a hint belongs to. */
export type HintComponent = 'broker' | 'backend' | 'collector';

/** Why something is not shown, and what to change. */
export interface Hint {
  readonly code: HintCode;
  readonly component: HintComponent;
  /** For people, the line included. */
  readonly sentence: string;
  /** What to write, alone: a setting of Celery, an option of this source, or a command of Redis. */
  readonly line: string;
}

/** Most names that a sentence lists. */
const MOST_NAMES = 5;
/** Longest name that is shown, in characters. */
const NAME_LENGTH = 100;

/** `a`, `a and b`, `a, b, c, d, e and 7 more`, in the order of the alphabet. */
export function listed(names: readonly string[]): string {
  const sorted = names.toSorted().map(shown);
  const shownNames = sorted.slice(0, MOST_NAMES);
  const rest = sorted.length - shownNames.length;
  if (rest > 0) return `${shownNames.join(', ')} and ${rest} more`;
  const last = shownNames.pop() ?? '';
  return shownNames.length === 0 ? last : `${shownNames.join(', ')} and ${last}`;
}

/** A name from somebody else's process: short, and without anything that breaks a line. */
export function shown(name: string): string {
  const plain = name.replace(/\p{C}/gu, '?');
  return plain.length > NAME_LENGTH ? `${plain.slice(0, NAME_LENGTH)}…` : plain;
}

/** The text as a literal of JavaScript and Python. */
export function quoted(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&').replace(/\p{C}/gu, escaped)}'`;
}

/** Half of a pair of surrogates is not escaped by its code point alone. */
function escaped(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}

/** How an option that names a Redis is written with another database; without host and password. */
export function withDatabase(
  option: 'broker' | 'backend',
  endpoint: RedisEndpoint,
  database: number,
): string {
  // Of an endpoint that a URL gave, `server` is a text; else it is the client itself.
  return typeof endpoint.server === 'string'
    ? `${option}: 'redis://…/${database}'`
    : `${option}: createClient({ url: 'redis://…/${database}' })`;
}
