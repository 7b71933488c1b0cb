/** A cached answer: its body, and what is needed to send it again later. */

import { MonitorError } from '../errors.ts';
import { errorOf, type Freshness } from '../read.ts';
import type { SourcePart } from '../source.ts';
import type { SourceBody } from '../wire.ts';
import { type Document, tagOf } from './send.ts';

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
