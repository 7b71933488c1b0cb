/**
 * Where a page ended, for lanes that time and id do not place: part of a cursor, so it is text, of bounded
 * length, and whatever a client makes of it is read or left aside.
 */
import type { Foothold, Place } from './lane.ts';
import type { StreamStart } from './stream-lane.ts';

/** Where the lanes of a walk stand. */
export interface WalkMark {
  /** The last row of those that time and id place; `null`: none yet. */
  readonly exact: Place | null;
  /** By the key of a lane: where it goes on; `null`: it has ended. */
  readonly lanes: ReadonlyMap<string, StreamStart | null>;
}

// A cursor of more than 8,192 characters is refused, and a third of it is lost to its encoding.
const LONGEST = 4_500;
const NOTHING = '-';

export function writeMark({ exact, lanes }: WalkMark): string {
  let text = place(exact);
  for (const [key, start] of lanes) {
    const lane = start === null ? [] : [place(start.last), ...hold(start.hold)];
    const part = `,${[encode(key), ...lane].join(' ')}`;
    // Lanes left out are found again by time.
    if (text.length + part.length <= LONGEST) text += part;
  }
  return text;
}

/** @returns `null` for what is no mark */
export function readMark(text: string): WalkMark | null {
  try {
    const [exact = '', ...parts] = text.split(',');
    const lanes = new Map<string, StreamStart | null>();
    for (const part of parts) {
      const [key = '', time, id, index, size, ...before] = part.split(' ').map(decodeURIComponent);
      lanes.set(
        key,
        time === undefined ? null : { last: placeOf(time, id), hold: holdOf(index, size, before) },
      );
    }
    const [time = '', id] = exact.split(' ').map(decodeURIComponent);
    return { exact: placeOf(time, id), lanes };
  } catch {
    return null;
  }
}

function encode(text: string): string {
  // Half a character cannot be encoded; no id has one.
  return encodeURIComponent(text.replace(/[\ud800-\udfff]/gu, '\ufffd'));
}

function place(at: Place | null): string {
  return at === null ? `${NOTHING} ${NOTHING}` : `${at.key === null ? 'n' : at.key} ${encode(at.id)}`;
}

function placeOf(time: string, id: string | undefined): Place | null {
  if (time === NOTHING || id === undefined) return null;
  const key = time === 'n' ? null : Number(time);
  return Number.isNaN(key) ? null : { key, id };
}

function hold(at: Foothold | null): readonly string[] {
  return at === null ? [NOTHING, NOTHING] : [String(at.index), String(at.size), ...at.before.map(encode)];
}

function holdOf(
  index: string | undefined,
  size: string | undefined,
  before: readonly string[],
): Foothold | null {
  const [first, count] = [Number(index), Number(size)];
  if (!Number.isSafeInteger(first) || !Number.isSafeInteger(count) || first < 0) return null;
  return { index: first, size: count, before };
}
