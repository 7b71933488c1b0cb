/** The position of a walk that several instances answer: how far each of them has come. */
import { readMark, writeMark } from '../cursor.ts';
import { isTaskPosition } from '../source/pages.ts';
import type { TaskPosition } from '../source.ts';

/** How far one instance has come. */
export interface InstanceProgress {
  /** Identifies the instance, see `HistoryReader.instance`. */
  readonly instance: string;
  /** The instance continues after this position; `null`: at the start of its list. */
  readonly after: TaskPosition | null;
  /** Where it took over from another instance; `null`: it began at the start of its list. */
  readonly joined: TaskPosition | null;
  /** Whether it has reached the end of its list since it joined, and lists what is before `joined`. */
  readonly isBefore: boolean;
}

/**
 * Most instances in one position. Each of them lists everything that it knows, so the rows of a walk may be
 * repeated as many times.
 */
export const MOST_INSTANCES = 8;

const KIND = 'instances';
/** In bytes. The router refuses cursors of more than 8,192 characters, and base64 takes a quarter of them. */
const LONGEST = 4_500;
const LONGEST_INSTANCE = 32;

/** Stands for the key and id of the position itself: those of the instance that answered last. */
const HERE = 0;

/**
 * Writes the progress of all instances into one position.
 *
 * @param progress by when each answered last, the latest last
 * @param at key and id of the position: where the latest page ends
 * @returns `null` when the position would be too long
 */
export function writeProgress(
  progress: readonly InstanceProgress[],
  at: Pick<TaskPosition, 'key' | 'id'>,
): TaskPosition | null {
  const entries = progress.map(({ instance, after, joined, isBefore }) => {
    const entry = [instance, after !== null && isSame(after, at) ? writeHere(after) : writePosition(after)];
    return joined === null ? entry : [...entry, writePosition(joined), isBefore ? 1 : 0];
  });
  const position = { key: at.key, id: at.id, mark: writeMark(KIND, entries) };
  return Buffer.byteLength(JSON.stringify(Object.values(position))) > LONGEST ? null : position;
}

/**
 * Reads what {@link writeProgress} wrote.
 *
 * @returns `null` for a position without the progress of instances; `'invalid'` for one that was made up
 */
export function readProgress(position: TaskPosition): readonly InstanceProgress[] | 'invalid' | null {
  if (position.mark === undefined || !position.mark.startsWith(KIND)) return null;
  const entries = readMark(KIND, position.mark) ?? [];
  const progress = entries.flatMap((entry) => readEntry(entry, position) ?? []);
  const instances = new Set(progress.map(({ instance }) => instance));
  const isValid =
    progress.length > 0 &&
    progress.length <= MOST_INSTANCES &&
    progress.length === entries.length &&
    instances.size === entries.length;
  return isValid ? progress : 'invalid';
}

function isSame(a: Pick<TaskPosition, 'key' | 'id'>, b: Pick<TaskPosition, 'key' | 'id'>): boolean {
  return a.key === b.key && a.id === b.id;
}

function writeHere({ mark }: TaskPosition): unknown {
  return mark === undefined ? HERE : mark;
}

function writePosition(position: TaskPosition | null): unknown {
  if (position === null) return null;
  const { key, id, mark } = position;
  return mark === undefined ? [key, id] : [key, id, mark];
}

/** Clients can send anything, so the shape of an entry is unknown. */
function readEntry(entry: unknown, here: TaskPosition): InstanceProgress | null {
  if (!Array.isArray(entry)) return null;
  const [instance, ...rest]: readonly unknown[] = entry;
  const after = readPosition(rest[0], here);
  const joined = readPosition(rest[1] ?? null, here);
  const isInstance = typeof instance === 'string' && instance.length <= LONGEST_INSTANCE;
  if (!isInstance || after === undefined || joined === undefined || rest.length > 3) return null;
  return { instance, after, joined, isBefore: rest[2] === 1 };
}

/** `undefined` if it is not a position. */
function readPosition(entry: unknown, { key, id }: TaskPosition): TaskPosition | null | undefined {
  if (entry === null) return null;
  if (entry === HERE) return { key, id };
  if (typeof entry === 'string') return { key, id, mark: entry };
  if (!Array.isArray(entry) || entry.length > 3) return undefined;
  const [ownKey, ownId, mark]: readonly unknown[] = entry;
  const position = { key: ownKey, id: ownId, ...(mark !== undefined && { mark }) };
  return isTaskPosition(position) ? position : undefined;
}
