/**
 * Answers of routes that read one part of a source: `sources`, outages, ETag, and the cache. An answer
 * whose source says that nothing has changed is not computed again.
 */
import type { Request, Response } from 'express';
import { isMonitorError, MonitorError, type MonitorErrorCode } from '../errors.ts';
import { type Currency, currencyOf } from '../read.ts';
import type { Awaitable, ReadContext, SourcePart } from '../source.ts';
import type { SourceBody, SourceErrorCode } from '../wire.ts';
import type { Monitor } from './monitor.ts';
import { onLeave } from './on-leave.ts';
import type { Respond } from './route.ts';
import { type Document, sendDocument, tagOf } from './send.ts';

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
  /** Milliseconds since 1970 at which the clock alone changes it, beside what the source says. */
  readonly changesAt?: number;
  /** Items that were left out because they could not be read. */
  readonly unreadable?: number;
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

/** A body is shared by all who ask within this time. */
const SHARED_MS = 1_000;

/** Failures that leave the last data of a source standing. */
const AWAY: ReadonlySet<MonitorErrorCode> = new Set<MonitorErrorCode>([
  'source_unavailable',
  'source_timeout',
]);

/** Answers one URL, whoever asks and however often. */
export function createDocument<Part extends SourcePart, Raw>(
  monitor: Monitor,
  options: DocumentOptions<Part, Raw>,
): Respond {
  const { part } = options;
  if (part === undefined) {
    return () => {
      throw new MonitorError('source_not_configured');
    };
  }
  const { answers, reader, report } = monitor;
  const { key } = options;
  let linked: { readonly cursor: string; readonly link: string } | null = null;

  function send(request: Request, response: Response, entry: AnswerEntry): void {
    const { nextCursor: cursor } = entry.draft;
    if (options.link === undefined || cursor === undefined || cursor === null) {
      sendDocument(request, response, entry);
      return;
    }
    if (linked?.cursor !== cursor) linked = { cursor, link: options.link(cursor) };
    sendDocument(request, response, entry, linked.link);
  }

  /** The answer that was given before, if it still holds. */
  function reuse(source: Part, currency: Currency, now: number): AnswerEntry | null {
    const held = answers.get(key);
    if (held === undefined || !isUnchanged(held, currency, now)) return null;
    if (Math.abs(now - held.renderedAt) < SHARED_MS) return held;
    const entry = render(source, held.draft, { ...held.currency, asOf: currency.asOf }, now, held.etag);
    answers.set(key, entry);
    return entry;
  }

  /** What the source last said, marked as old. */
  function lastKnown(source: Part, error: SourceErrorCode, now: number): AnswerEntry {
    const held = answers.get(key);
    if (held === undefined) throw new MonitorError(error);
    return render(source, held.draft, { ...held.currency, ok: false, error }, now);
  }

  function keep(source: Part, before: Currency, raw: Raw, now: number): AnswerEntry {
    const currency = merge(before, currencyOf(source, before.asOf ?? now, report));
    const draft = options.draft(raw, source, now);
    if (draft === null) {
      // What it does not know now may be what it cannot reach.
      throw new MonitorError(currency.ok ? 'task_not_found' : (currency.error ?? 'source_unavailable'));
    }
    if (draft.unreadable) monitor.countUnreadable(source, options.call, draft.unreadable);
    const entry = render(source, draft, currency, now);
    answers.set(key, entry);
    return entry;
  }

  async function readAnew(source: Part, before: Currency, now: number, response: Response) {
    if (!before.ok && before.asOf === null) {
      return lastKnown(source, before.error ?? 'source_unavailable', now);
    }
    try {
      return await reader.read(
        {
          part: source,
          call: options.call,
          key,
          read: (context) => options.read(source, context, now),
          map: (raw: Raw) => keep(source, before, raw, now),
        },
        onLeave(response),
      );
    } catch (error) {
      if (!isMonitorError(error) || !AWAY.has(error.code)) throw error;
      return lastKnown(source, error.code as SourceErrorCode, Date.now());
    }
  }

  return function respond(request, response) {
    const now = Date.now();
    const currency = currencyOf(part, now, report);
    const held = reuse(part, currency, now);
    if (held === null) {
      return readAnew(part, currency, now, response).then((entry) => send(request, response, entry));
    }
    send(request, response, held);
    return undefined;
  };
}

function isUnchanged({ currency, draft }: AnswerEntry, latest: Currency, now: number): boolean {
  return (
    latest.revision !== null &&
    latest.revision === currency.revision &&
    latest.ok === currency.ok &&
    latest.error === currency.error &&
    now < currency.changesAt &&
    now < (draft.changesAt ?? Infinity)
  );
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
function render(
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
