/**
 * Entries of a queue's event stream, as XRANGE and XREVRANGE return them. Other programs may write to the stream:
 * anything that is not an entry is ignored, and long values are cut.
 */

/** One entry. */
export interface StreamEntry {
  /** `<milliseconds>-<sequence>`, as Redis has it. */
  readonly id: string;
  /** Milliseconds since 1970, by the clock of Redis. */
  readonly time: number;
  /** Its values by name, without return values, which may be large and are part of the task itself. */
  readonly fields: ReadonlyMap<string, string>;
  /** The whole return value of a completed job, as JSON; `null`: it has none. */
  readonly returnValue: string | null;
  /** Characters that were read for it. */
  readonly size: number;
}

/** The id before all others. */
export const BEGINNING = '0-0';

const LARGEST = 2n ** 64n - 1n;
const LONGEST = 4_096;
/** A cut keeps no more of a word than this, as a secret may be recognizable only by its end. */
const LONGEST_WORD = 1_024;
const MOST_FIELDS = 32;

/** Entries in the order of the reply. */
export function entriesOf(reply: unknown): readonly StreamEntry[] {
  return Array.isArray(reply) ? reply.flatMap((item) => entryOf(item) ?? []) : [];
}

function entryOf(item: unknown): StreamEntry | null {
  const [id, values]: readonly unknown[] = Array.isArray(item) ? item : [];
  if (typeof id !== 'string' || !isStreamId(id) || !Array.isArray(values)) return null;
  const fields = new Map<string, string>();
  let size = id.length;
  let returnValue: string | null = null;
  for (let at = 0; at + 1 < values.length; at += 2) {
    const [name, value]: readonly unknown[] = [values[at], values[at + 1]];
    if (typeof name !== 'string' || typeof value !== 'string') continue;
    size += name.length + value.length;
    if (name === 'returnvalue') returnValue = value;
    else if (fields.size < MOST_FIELDS) fields.set(shorten(name), shorten(value));
  }
  return { id, time: timeOf(id), fields, returnValue, size };
}

/** Whether Redis accepts it as an id: two whole numbers of 64 bits. */
export function isStreamId(text: string): boolean {
  return /^\d{1,20}-\d{1,20}$/.test(text) && text.split('-').every((part) => BigInt(part) <= LARGEST);
}

/** The milliseconds of an id. */
export function timeOf(id: string): number {
  return Number(id.slice(0, id.indexOf('-')));
}

/** Less than 0 when `a` comes first. The parts may exceed what a number holds exactly. */
export function compareIds(a: string, b: string): number {
  const [aTime = '', aCount = ''] = a.split('-');
  const [bTime = '', bCount = ''] = b.split('-');
  return compareDigits(aTime, bTime) || compareDigits(aCount, bCount);
}

function compareDigits(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}

function shorten(text: string): string {
  if (text.length <= LONGEST) return text;
  const kept = text.slice(0, LONGEST);
  const end = Math.max(kept.search(/\s\S*$/), LONGEST - LONGEST_WORD);
  // A slice would keep the whole text in memory.
  return `${Buffer.from(kept.slice(0, end)).toString()}…`;
}
