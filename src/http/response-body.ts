import { createHash } from 'node:crypto';
import type { ReadResult } from '../read.ts';
import type { Steps } from '../scheduler.ts';
import type { AnswerContent, Unreadable } from './answer-entry.ts';

/** The content of a small body, followed by `sources`. */
export function contentOf(body: object): AnswerContent {
  const stable = JSON.stringify(body).slice(1, -1);
  return { stable, render: (_moment, sources) => `{${stable},"sources":${sources}}` };
}

/** A body of several parts, in steps because it may be large. */
export interface PartedBody extends Omit<AnswerContent, 'stable' | 'render' | 'bytes'> {
  /** Additional text that the ETag covers. */
  readonly covers?: string;
  /** JSON text before and after the parts, for a time in milliseconds since 1970. */
  around(generatedAt: number): readonly [before: string, after: string];
  /** JSON text and encoded JSON text. */
  readonly parts: readonly (string | Buffer)[];
}

/** The content of a body of several parts, followed by `sources`. */
export function* contentOfParts({ covers = '', around, parts, ...extra }: PartedBody): Steps<AnswerContent> {
  const hash = createHash('sha1').update(covers);
  const encoded: Buffer[] = [];
  let bytes = 0;
  for (const part of parts) {
    const buffer = typeof part === 'string' ? Buffer.from(part) : part;
    encoded.push(buffer);
    hash.update(buffer);
    bytes += buffer.length;
    yield;
  }
  return {
    ...extra,
    stable: hash.digest('base64url'),
    bytes,
    render(generatedAt, sources) {
      const [before, after] = around(generatedAt);
      return Buffer.concat([Buffer.from(before), ...encoded, Buffer.from(`${after}"sources":${sources}}`)]);
    },
  };
}

/** A body with one list of rows, and otherwise few members. */
export interface ListBody extends Omit<PartedBody, 'covers' | 'around' | 'parts'> {
  /** JSON text before the rows, such as `"tasks":[`. */
  readonly before: string;
  /** JSON text of each row. */
  readonly rows: readonly string[];
  /** JSON text after the rows, such as `],"total":1`. */
  readonly after: string;
  /** Whether `generated_at` follows. */
  readonly generatedAt: boolean;
}

/** Maximum length in characters of a body that is written at once: that takes some hundred microseconds. */
const SHORT_LENGTH = 131_072;

/** The content of a body with a list, followed by `sources`. */
export function* contentOfList({
  before,
  rows,
  after,
  generatedAt,
  ...extra
}: ListBody): Steps<AnswerContent> {
  const writtenAt = (moment: number): string =>
    generatedAt ? `"generated_at":"${new Date(moment).toISOString()}",` : '';
  if (rows.reduce((sum, { length }) => sum + length, 0) < SHORT_LENGTH) {
    const stable = `${before}${rows.join(',')}${after}`;
    const render = (moment: number, sources: string): string =>
      `{${stable},${writtenAt(moment)}"sources":${sources}}`;
    return { ...extra, stable, render };
  }
  return yield* contentOfParts({
    ...extra,
    parts: [before, ...joinRows(rows), `${after},`],
    around: (moment) => ['{', writtenAt(moment)],
  });
}

/** Characters of a part of a longer body. */
const PART_LENGTH = 32_768;

/** Joins rows with commas, in parts of about {@link PART_LENGTH}. */
function joinRows(rows: readonly string[]): string[] {
  const parts: string[] = [];
  let start = 0;
  let length = 0;
  for (const [index, row] of rows.entries()) {
    length += row.length + 1;
    if (length < PART_LENGTH && index < rows.length - 1) continue;
    parts.push(`${start === 0 ? '' : ','}${rows.slice(start, index + 1).join(',')}`);
    start = index + 1;
    length = 0;
  }
  return parts;
}

/** Rows converted between two pauses. Each may have five texts of some kilobytes to redact. */
const ROWS_AT_ONCE = 4;

/** Converts the items of a source with `show`. Counts the items that cannot be read or exceed `most`. */
export function* readItems<Item, Shown>(
  given: unknown,
  most: number,
  sourceOf: ReadResult['sourceOf'],
  show: (item: Item) => Shown | null,
): Steps<{ readonly shown: Shown[]; readonly unreadable: Unreadable }> {
  if (!Array.isArray(given)) throw new TypeError('The source must return an array.');
  // A copy: the list may belong to the host, who may change it during a pause.
  const list: readonly unknown[] = given.slice(0, most + 1);
  const excess = Math.max(0, given.length - most);
  const length = Math.min(list.length, most);
  const shown: Shown[] = [];
  const unreadable = new Map<string, number>();
  const leaveOut = (item: unknown, count: number): void => {
    const source = sourceOf(item);
    unreadable.set(source, (unreadable.get(source) ?? 0) + count);
  };
  for (let index = 0; index < length; index += 1) {
    const item: unknown = list[index];
    const row = show(item as Item);
    if (row === null) leaveOut(item, 1);
    else shown.push(row);
    if (index % ROWS_AT_ONCE === ROWS_AT_ONCE - 1) yield;
  }
  if (excess > 0) leaveOut(list[length], excess);
  return { shown, unreadable };
}
