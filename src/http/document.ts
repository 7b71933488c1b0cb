/** Answers of routes that read one part of a source. The cached answer is sent until the source reports a change. */
import { isMonitorError, MonitorError } from '../errors.ts';
import type { RouteName } from '../options.ts';
import {
  AWAY,
  errorOf,
  type Freshness,
  freshnessAway,
  freshnessBetween,
  freshnessOf,
  hasData,
  isStillFresh,
  type OnLeave,
  type ReadResult,
} from '../read.ts';
import { type Steps, scheduler } from '../scheduler.ts';
import type { Awaitable, ReadContext, SourcePart } from '../source.ts';
import type { SourceErrorCode } from '../wire.ts';
import {
  type AnswerContent,
  type AnswerEntry,
  answerWith,
  type DocumentRequest,
  render,
} from './answer-body.ts';
import {
  type MonitorRequest,
  type MonitorResponse,
  onLeave,
  type Respond,
  sendDocument,
} from './exchange.ts';
import type { Monitor } from './monitor.ts';
import type { Asked } from './route.ts';
import { streamable } from './streams.ts';

/** All requests within this time get the same body, in milliseconds. */
const SHARED_MS = 1_000;

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
  const { answers, report } = monitor;
  const { part, key } = options;
  if (part === undefined) {
    return () => {
      throw new MonitorError('source_not_configured');
    };
  }

  /** The cached answer, if it is still valid. */
  function reuse(freshness: Freshness, now: number): AnswerEntry | null {
    const held = answers.get(key);
    if (held === undefined || !isStillFresh(held.freshness, freshness, now)) return null;
    if (now >= (held.content.changesAt ?? Infinity)) return null;
    if (Math.abs(now - held.renderedAt) < SHARED_MS) return held;
    const entry = render(held.content, { ...held.freshness, sources: freshness.sources }, now, held.etag);
    answers.set(key, entry);
    return entry;
  }

  async function readAnew(request: DocumentRequest<Part>, onLeave: OnLeave): Promise<AnswerEntry> {
    const { before, now } = request;
    if (!hasData(before)) return lastKnown(errorOf(before) ?? 'source_unavailable', now);
    try {
      const entry = await readEntry(monitor, options, request, false, onLeave);
      answers.set(key, entry);
      return entry;
    } catch (error) {
      if (!isMonitorError(error) || !AWAY.has(error.code)) throw error;
      return lastKnown(error.code as SourceErrorCode, Date.now());
    }
  }

  /** The last data of a source that fails now, marked as old. */
  function lastKnown(error: SourceErrorCode, now: number): AnswerEntry {
    const held = answers.get(key);
    if (held === undefined) throw new MonitorError(error);
    return render(held.content, freshnessAway(held.freshness, error), now);
  }

  return (request, response) => {
    const now = Date.now();
    const before = freshnessOf(part, now, report);
    const known = reuse(before, now);
    if (known !== null) return known;
    return readAnew({ part, before, now, client: monitor.nameClient(request) }, onLeave(response));
  };
}

/** How a route answers one URL. */
export type DocumentOptions<Part extends SourcePart, Raw> = ReadDocument<Part, Raw> | MadeDocument<Part>;

/** What all answers have in common. */
interface DocumentBase<Part extends SourcePart> {
  /** Absent: `source_not_configured`. */
  readonly part: Part | undefined;
  /** Path parameters and query in a canonical form. */
  readonly key: string;
  /** Builds the `Link` header for the page that begins at this cursor. */
  link?(cursor: string): string;
}

/** An answer that is not built from a single read of the source. */
interface MadeDocument<Part extends SourcePart> extends DocumentBase<Part> {
  /** Makes the answer. @throws MonitorError with the error code of the response */
  make(request: DocumentRequest<Part>, onLeave: OnLeave | undefined): Promise<AnswerEntry>;
}

/** An answer that is built from one read of the source. */
interface ReadDocument<Part extends SourcePart, Raw> extends DocumentBase<Part> {
  /** Name of the source method, for error reports. */
  readonly call: string;
  read(part: Part, context: ReadContext, now: number): Awaitable<Raw>;
  /** Reads what `content` needs in addition, in a share of the time limit. Must not reject. Default: nothing */
  prepare?(raw: Raw, sourceOf: ReadResult['sourceOf'], now: number): Promise<void> | undefined;
  /**
   * Builds the content of the response body, in steps: redacting and writing a page of 1,000 rows takes long.
   *
   * @param sourceOf returns the name of the source that an item came from
   * @returns `null` when the source does not know the requested task
   * @throws MonitorError `source_invalid`
   */
  content(raw: Raw, sourceOf: ReadResult['sourceOf'], now: number): Steps<AnswerContent | null>;
}

/**
 * Reads an answer for a stream. It is not cached: each message of a stream is read once.
 *
 * @throws MonitorError with the error code of the response
 */
function readAnswer<Part extends SourcePart, Raw>(
  monitor: Monitor,
  options: DocumentOptions<Part, Raw>,
  onLeave?: OnLeave,
): Awaitable<AnswerEntry> {
  const { part } = options;
  if (part === undefined) throw new MonitorError('source_not_configured');
  const now = Date.now();
  const before = freshnessOf(part, now, monitor.report);
  if (!hasData(before)) throw new MonitorError(errorOf(before) ?? 'source_unavailable');
  // Clients share the stream.
  const request = { part, before, now, client: monitor.nameClient(null) };
  return readEntry(monitor, options, request, true, onLeave);
}

/** Reads and builds an answer. Returns no promise if the source does not, and the work fits into this turn. */
function readEntry<Part extends SourcePart, Raw>(
  monitor: Monitor,
  options: DocumentOptions<Part, Raw>,
  request: DocumentRequest<Part>,
  isStreamed: boolean,
  onLeave: OnLeave | undefined,
): Awaitable<AnswerEntry> {
  if ('make' in options) return options.make(request, onLeave);
  const { part, client, now } = request;
  return monitor.reader.read<Raw, AnswerEntry>(
    {
      part,
      call: options.call,
      key: isStreamed ? `stream ${options.key}` : options.key,
      client,
      keepsLast: !isStreamed,
      read: (context) => options.read(part, context, now),
      map(raw, result, waiter) {
        const make = () => scheduler.run('answer', compose(monitor, options, request, raw, result), waiter);
        return options.prepare?.(raw, result.sourceOf, now)?.then(make) ?? make();
      },
    },
    onLeave,
  );
}

/** Builds the answer from the data that a source has just returned. */
function* compose<Part extends SourcePart, Raw>(
  monitor: Monitor,
  options: ReadDocument<Part, Raw>,
  { part, before, now }: DocumentRequest<Part>,
  raw: Raw,
  result: ReadResult,
): Steps<AnswerEntry> {
  const freshness = freshnessBetween(before, freshnessOf(part, now, monitor.report), result);
  const content = yield* options.content(raw, result.sourceOf, now);
  const unreadable = new Map(content?.unreadable);
  for (const [name, count] of result.leftOut) unreadable.set(name, (unreadable.get(name) ?? 0) + count);
  for (const [name, count] of unreadable) monitor.countUnreadable({ name }, options.call, count);
  return answerWith(content && { ...content, unreadable }, freshness, now);
}

/**
 * Answers one URL as JSON, or as a stream of what changes after its parameter `since`.
 *
 * @param readSince parses the id of a message; `null` when it is not valid
 * @param optionsOf how the URL is answered, with any `since`
 */
export function createStreamedDocument<
  Since,
  Part extends SourcePart,
  Raw,
  Values extends SinceValues<Since>,
>(
  monitor: Monitor,
  route: RouteName,
  asked: Asked<Values>,
  readSince: (id: string) => Since | null,
  optionsOf: (asked: Asked<Values>) => DocumentOptions<Part, Raw>,
): Respond {
  const { since, gather = null } = asked.values;
  const after = (given: Since | null) => optionsOf({ ...asked, values: { ...asked.values, since: given } });
  const { part, key } = after(null);
  return streamable(monitor.streams, createDocument(monitor, optionsOf(asked)), {
    route,
    part,
    key,
    since,
    gather,
    readSince,
    read: (given, onLeave) => readAnswer(monitor, after(given), onLeave),
  });
}

interface SinceValues<Since> {
  readonly since: Since | null;
  readonly gather?: number | null;
}

/** The cache key of a request: the same for all URLs with the same meaning. */
export function keyOf(route: RouteName, { taskId, values }: Asked<unknown>): string {
  return JSON.stringify([route, taskId, values]);
}
