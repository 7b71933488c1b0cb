/** Answers of routes that read one part of a source. One whose source says that nothing has changed is not computed again. */

import { isMonitorError, MonitorError } from '../errors.ts';
import {
  AWAY,
  errorOf,
  type Freshness,
  freshnessAway,
  freshnessOf,
  hasData,
  type ReadResult,
} from '../read.ts';
import type { SourcePart } from '../source.ts';
import type { SourceErrorCode } from '../wire.ts';
import { compose, type DocumentOptions, type Given, render } from './answer.ts';
import type { AnswerEntry } from './answer-entry.ts';
import type { MonitorRequest, MonitorResponse } from './exchange.ts';
import type { Monitor } from './monitor.ts';
import { onLeave } from './on-leave.ts';
import type { Respond } from './route.ts';
import { sendDocument } from './send.ts';

/** A body is shared by all who ask within this time. */
const SHARED_MS = 1_000;

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

  function send(request: MonitorRequest, response: MonitorResponse, entry: AnswerEntry): void {
    const { nextCursor: cursor } = entry.draft;
    if (options.link === undefined || cursor === undefined || cursor === null) {
      sendDocument(request, response, entry);
      return;
    }
    if (linked?.cursor !== cursor) linked = { cursor, link: options.link(cursor) };
    sendDocument(request, response, entry, linked.link);
  }

  /** The answer that was given before, if it still holds. */
  function reuse(freshness: Freshness, now: number): AnswerEntry | null {
    const held = answers.get(key);
    if (held === undefined || !isUnchanged(held, freshness, now)) return null;
    if (Math.abs(now - held.renderedAt) < SHARED_MS) return held;
    const entry = render(held.draft, { ...held.freshness, sources: freshness.sources }, now, held.etag);
    answers.set(key, entry);
    return entry;
  }

  /** What the source last said, marked as old. */
  function lastKnown(error: SourceErrorCode, now: number): AnswerEntry {
    const held = answers.get(key);
    if (held === undefined) throw new MonitorError(error);
    return render(held.draft, freshnessAway(held.freshness, error), now);
  }

  function keep(given: Given<Part, Raw>): AnswerEntry {
    const entry = compose(monitor, options, given);
    answers.set(key, entry);
    return entry;
  }

  async function readAnew(source: Part, before: Freshness, now: number, response: MonitorResponse) {
    if (!hasData(before)) return lastKnown(errorOf(before) ?? 'source_unavailable', now);
    try {
      return await reader.read(
        {
          part: source,
          call: options.call,
          key,
          read: (context) => options.read(source, context, now),
          keepsLast: true,
          map: (raw: Raw, result: ReadResult) => keep({ part: source, before, raw, result, now }),
        },
        onLeave(response),
      );
    } catch (error) {
      if (!isMonitorError(error) || !AWAY.has(error.code)) throw error;
      return lastKnown(error.code as SourceErrorCode, Date.now());
    }
  }

  return function respond(request, response) {
    const now = Date.now();
    const freshness = freshnessOf(part, now, report);
    const held = reuse(freshness, now);
    if (held === null) {
      return readAnew(part, freshness, now, response).then((entry) => send(request, response, entry));
    }
    send(request, response, held);
    return undefined;
  };
}

function isUnchanged({ freshness, draft }: AnswerEntry, latest: Freshness, now: number): boolean {
  return (
    latest.revision !== null &&
    latest.revision === freshness.revision &&
    latest.outages === freshness.outages &&
    now < freshness.changesAt &&
    now < (draft.changesAt ?? Infinity)
  );
}
