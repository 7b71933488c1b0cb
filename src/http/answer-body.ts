/** The bodies of answers: what is needed to write them, to keep them and to send them again later. */
import { createHash } from 'node:crypto';
import { MonitorError } from '../errors.ts';
import { errorOf, type Freshness, type ReadResult } from '../read.ts';
import type { Steps } from '../scheduler.ts';
import type { SourcePart } from '../source.ts';
import type { SourceBody } from '../wire.ts';
import { type Document, tagOf } from './exchange.ts';

/** The content of a response body, before its time and its `sources` are added. */
export interface AnswerContent {
  /** The text that the ETag covers. */
  readonly stable: string;
  /**
   * Writes the whole body.
   *
   * @param generatedAt milliseconds since 1970
   * @param sources JSON for the member `sources`
   */
  render(generatedAt: number, sources: string): string | Buffer;
  /** Memory that it uses in addition to `stable`, in bytes. Default: none. */
  readonly bytes?: number;
  /** Cursor of the next page, for the `Link` header. */
  readonly nextCursor?: string | null;
  /** For streams: the position of this answer among the changes. */
  readonly position?: StreamPosition;
  /** Milliseconds since 1970 after which the content is out of date even if the source reports no change. */
  readonly changesAt?: number;
  /** Items that were left out because they could not be read. */
  readonly unreadable?: Unreadable;
}

/** Number of items that could not be read, by the name of their source. */
export type Unreadable = ReadonlyMap<string, number>;

/** The position of an answer in a stream of changes. */
interface StreamPosition {
  /** `since` of the next read. */
  readonly cursor: string;
  /** Whether the answer contains any changes. */
  readonly hasChanges: boolean;
  /** Whether changes before this answer were missed. */
  readonly gap: boolean;
  /** Whether the answer reached its limit, so that more changes may follow. */
  readonly isFull: boolean;
}

/** An answer and its freshness. */
export interface AnswerEntry extends Document {
  readonly content: AnswerContent;
  readonly freshness: Freshness;
  /** When the body was rendered, in milliseconds since 1970. */
  readonly renderedAt: number;
  /** Approximate size in bytes. */
  readonly size: number;
}

/** A request for an answer that is not in the cache. */
export interface DocumentRequest<Part extends SourcePart> {
  readonly part: Part;
  /** Freshness of the part now. */
  readonly before: Freshness;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Identifies the client to the scheduler. */
  readonly client: string;
}

/** The answer with this content. @param content `null` when the source does not know the requested task */
export function answerWith(content: AnswerContent | null, freshness: Freshness, now: number): AnswerEntry {
  // While a source is unavailable, a task that was not found may exist there.
  if (content === null) throw new MonitorError(errorOf(freshness) ?? 'task_not_found');
  return render(content, freshness, now);
}

/**
 * Renders an answer.
 *
 * @param etag ETag of the same content, if it is known. Default: computed
 */
export function render(
  content: AnswerContent,
  freshness: Freshness,
  now: number,
  etag?: string,
): AnswerEntry {
  const sources = freshness.sources.map(
    ({ name, engine, ok, asOf, error }): SourceBody => ({
      name,
      engine,
      ok,
      as_of: asOf === null ? null : new Date(asOf).toISOString(),
      error: error ?? (content.unreadable?.has(name) ? 'source_invalid' : null),
    }),
  );
  const given = content.render(now, JSON.stringify(sources));
  const body = typeof given === 'string' ? Buffer.from(given) : given;
  return {
    content,
    freshness,
    body,
    etag: etag ?? tagOf(content.stable, sources.map(({ ok, error }) => `${ok} ${error}`).join()),
    renderedAt: now,
    size: body.length + content.stable.length + (content.bytes ?? 0),
  };
}

/** The content of a small body, followed by `sources`. */
export function contentOf(body: object): AnswerContent {
  const stable = JSON.stringify(body).slice(1, -1);
  return { stable, render: (_moment, sources) => `{${stable},"sources":${sources}}` };
}

/** A body of several parts, in steps because it may be large. */
interface PartedBody extends Omit<AnswerContent, 'stable' | 'render' | 'bytes'> {
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
