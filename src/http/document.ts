/** Answers of routes that read one part of a source. The cached answer is sent until the source reports a change. */

import { isMonitorError, MonitorError } from '../errors.ts';
import { AWAY, errorOf, type Freshness, freshnessAway, freshnessOf, hasData, isStillFresh } from '../read.ts';
import type { SourcePart } from '../source.ts';
import type { SourceErrorCode } from '../wire.ts';
import { type DocumentOptions, readEntry } from './answer.ts';
import { type AnswerEntry, render } from './answer-entry.ts';
import { type MonitorRequest, type MonitorResponse, onLeave } from './exchange.ts';
import type { Monitor } from './monitor.ts';

import type { Respond } from './route.ts';
import { sendDocument } from './send.ts';

/** All requests within this time get the same body, in milliseconds. */
const SHARED_MS = 1_000;

/** How one URL is answered. */
interface DocumentState<Part extends SourcePart, Raw> {
  readonly monitor: Monitor;
  readonly options: DocumentOptions<Part, Raw>;
  readonly part: Part;
}

/** Sends the answers to one URL, for all clients. */
export function createDocument<Part extends SourcePart, Raw>(
  monitor: Monitor,
  options: DocumentOptions<Part, Raw>,
): Respond {
  const answer = createAnswer(monitor, options);
  // The latest `Link` header, so that it is not built again for the same cursor.
  let linked: { readonly cursor: string; readonly link: string } | null = null;

  function send(request: MonitorRequest, response: MonitorResponse, entry: AnswerEntry) {
    const { nextCursor: cursor } = entry.content;
    if (options.link === undefined || cursor === undefined || cursor === null) {
      return sendDocument(request, response, entry);
    }
    linked = linked?.cursor === cursor ? linked : { cursor, link: options.link(cursor) };
    return sendDocument(request, response, entry, linked.link);
  }

  return function respond(request, response) {
    const entry = answer(request, response);
    if (entry instanceof Promise) return entry.then((read) => send(request, response, read));
    return send(request, response, entry);
  };
}

/** Makes an answer for one request, or takes the one that was made for another. */
export type Answer = (
  request: MonitorRequest,
  response: MonitorResponse,
) => AnswerEntry | Promise<AnswerEntry>;

/** Creates the answers to one URL, which all clients share. They fail with the MonitorError of the response. */
export function createAnswer<Part extends SourcePart, Raw>(
  monitor: Monitor,
  options: DocumentOptions<Part, Raw>,
): Answer {
  const { part } = options;
  if (part === undefined) {
    return () => {
      throw new MonitorError('source_not_configured');
    };
  }
  const state: DocumentState<Part, Raw> = { monitor, options, part };
  return (request, response) => {
    const now = Date.now();
    const freshness = freshnessOf(part, now, monitor.report);
    return reuse(state, freshness, now) ?? readAnew(state, freshness, now, request, response);
  };
}

/** The cached answer, if it is still valid. */
function reuse<Part extends SourcePart, Raw>(
  { monitor: { answers }, options: { key } }: DocumentState<Part, Raw>,
  freshness: Freshness,
  now: number,
): AnswerEntry | null {
  const held = answers.get(key);
  if (held === undefined || !isStillFresh(held.freshness, freshness, now)) return null;
  if (now >= (held.content.changesAt ?? Infinity)) return null;
  if (Math.abs(now - held.renderedAt) < SHARED_MS) return held;
  const entry = render(held.content, { ...held.freshness, sources: freshness.sources }, now, held.etag);
  answers.set(key, entry);
  return entry;
}

async function readAnew<Part extends SourcePart, Raw>(
  state: DocumentState<Part, Raw>,
  before: Freshness,
  now: number,
  request: MonitorRequest,
  response: MonitorResponse,
): Promise<AnswerEntry> {
  const { monitor, options, part } = state;
  const { key } = options;
  if (!hasData(before)) return lastKnown(state, errorOf(before) ?? 'source_unavailable', now);
  const client = monitor.nameClient(request);
  const reading = { key, keepsLast: true, onLeave: onLeave(response) };
  try {
    const entry = await readEntry(monitor, options, { part, before, now, client }, reading);
    monitor.answers.set(key, entry);
    return entry;
  } catch (error) {
    if (!isMonitorError(error) || !AWAY.has(error.code)) throw error;
    return lastKnown(state, error.code as SourceErrorCode, Date.now());
  }
}

/** The last data of a source that fails now, marked as old. */
function lastKnown<Part extends SourcePart, Raw>(
  { monitor: { answers }, options: { key } }: DocumentState<Part, Raw>,
  error: SourceErrorCode,
  now: number,
): AnswerEntry {
  const held = answers.get(key);
  if (held === undefined) throw new MonitorError(error);
  return render(held.content, freshnessAway(held.freshness, error), now);
}
