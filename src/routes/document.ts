/** Answers of routes that read one part of a source. One whose source says that nothing has changed is not computed again. */
import type { Request, Response } from 'express';
import { isMonitorError, MonitorError, type MonitorErrorCode } from '../errors.ts';
import { type Currency, currencyOf } from '../read.ts';
import type { SourcePart } from '../source.ts';
import type { SourceErrorCode } from '../wire.ts';
import { type AnswerEntry, compose, type DocumentOptions, render } from './answer.ts';
import type { Monitor } from './monitor.ts';
import { onLeave } from './on-leave.ts';
import type { Respond } from './route.ts';
import { sendDocument } from './send.ts';

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
    const entry = compose(monitor, options, source, before, raw, now);
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
