/** What a source has answered, made into a body: `sources`, how current it is, its ETag. */
import { MonitorError } from '../errors.ts';
import { type Currency, currencyOf, type OnLeave } from '../read.ts';
import type { Awaitable, ReadContext, SourcePart } from '../source.ts';
import type { SourceBody } from '../wire.ts';
import type { Monitor } from './monitor.ts';
import { type Document, tagOf } from './send.ts';

/** An answer but for the moment it is given at. */
export interface Draft {
  /** What the ETag covers of it. */
  readonly stable: string;
  /**
   * The whole body.
   *
   * @param generatedAt milliseconds since 1970
   * @param sources JSON for the member `sources`
   */
  render(generatedAt: number, sources: string): string;
  /** For the `Link` header: where the next page begins. */
  readonly nextCursor?: string | null;
  /** For a stream: where this answer stands among its changes. */
  readonly place?: StreamPlace;
  /** Milliseconds since 1970 at which the clock alone changes it, beside what the source says. */
  readonly changesAt?: number;
  /** Items that were left out because they could not be read. */
  readonly unreadable?: number;
}

/** Where an answer stands that tells what has changed. */
export interface StreamPlace {
  /** What the next one asks `since` for. */
  readonly cursor: string;
  /** Whether it tells anything. */
  readonly isNews: boolean;
  /** Whether something was missed before it. */
  readonly gap: boolean;
  /** Whether more has happened than it could hold. */
  readonly isFull: boolean;
}

/** How a route answers one URL. */
export interface DocumentOptions<Part extends SourcePart, Raw> {
  /** Absent: `source_not_configured`. */
  readonly part: Part | undefined;
  /** Name of the method that is read, for reports. */
  readonly call: string;
  /** Path parameters and query in a canonical form. */
  readonly key: string;
  read(part: Part, context: ReadContext, now: number): Awaitable<Raw>;
  /**
   * Makes the answer.
   *
   * @returns `null` when the source does not know what was asked for
   * @throws MonitorError `source_invalid`
   */
  draft(raw: Raw, part: Part, now: number): Draft | null;
  /** The `Link` header to the page that begins at this cursor. */
  link?(cursor: string): string;
}

/** An answer that was given, with how current it is. */
export interface AnswerEntry extends Document {
  readonly draft: Draft;
  readonly currency: Currency;
  /** When its moments were written, in milliseconds since 1970. */
  readonly renderedAt: number;
  readonly size: number;
}

/**
 * Reads an answer for a stream, whose messages are each asked for once and so are not kept.
 *
 * @throws MonitorError with the code to answer with
 */
export function readAnswer<Part extends SourcePart, Raw>(
  monitor: Monitor,
  options: DocumentOptions<Part, Raw>,
  onLeave?: OnLeave,
): Awaitable<AnswerEntry> {
  const { part } = options;
  if (part === undefined) throw new MonitorError('source_not_configured');
  const now = Date.now();
  const before = currencyOf(part, now, monitor.report);
  if (!before.ok && before.asOf === null) throw new MonitorError(before.error ?? 'source_unavailable');
  return monitor.reader.read(
    {
      part,
      call: options.call,
      key: `stream ${options.key}`,
      read: (context) => options.read(part, context, now),
      map: (raw: Raw) => compose(monitor, options, part, before, raw, now),
    },
    onLeave,
  );
}

/** The answer that a source has just given. */
export function compose<Part extends SourcePart, Raw>(
  monitor: Monitor,
  options: DocumentOptions<Part, Raw>,
  source: Part,
  before: Currency,
  raw: Raw,
  now: number,
): AnswerEntry {
  const currency = merge(before, currencyOf(source, before.asOf ?? now, monitor.report));
  const draft = options.draft(raw, source, now);
  if (draft === null) {
    // What it does not know now may be what it cannot reach.
    throw new MonitorError(currency.ok ? 'task_not_found' : (currency.error ?? 'source_unavailable'));
  }
  if (draft.unreadable) monitor.countUnreadable(source, options.call, draft.unreadable);
  return render(source, draft, currency, now);
}

/** How current an answer is that was read between these two: what was old on either side is old. */
function merge(before: Currency, after: Currency): Currency {
  return {
    ...(before.ok ? after : before),
    asOf: before.ok ? (after.asOf ?? before.asOf) : before.asOf,
    // Read while it changed: nobody knows which of the two it is.
    revision: before.revision === after.revision ? before.revision : null,
    changesAt: Math.min(before.changesAt, after.changesAt),
  };
}

/** @param etag when it is known already: nothing that it covers has changed */
export function render(
  { name }: SourcePart,
  draft: Draft,
  currency: Currency,
  now: number,
  etag?: string,
): AnswerEntry {
  const error = currency.error ?? (draft.unreadable ? 'source_invalid' : null);
  const source: SourceBody = {
    name,
    ok: currency.ok,
    as_of: currency.asOf === null ? null : new Date(currency.asOf).toISOString(),
    error,
  };
  const body = Buffer.from(draft.render(now, JSON.stringify([source])));
  return {
    draft,
    currency,
    body,
    etag: etag ?? tagOf(draft.stable, `${currency.ok} ${error}`),
    renderedAt: now,
    size: body.length + draft.stable.length,
  };
}
