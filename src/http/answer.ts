/** Turns the data of a source into a response body with `sources` and an ETag. */
import { MonitorError } from '../errors.ts';
import type { RouteName } from '../options.ts';
import {
  errorOf,
  freshnessBetween,
  freshnessOf,
  hasData,
  type OnLeave,
  type ReadResult,
  type ReadTask,
} from '../read.ts';
import { type Steps, scheduler } from '../scheduler.ts';
import type { Awaitable, ReadContext, SourcePart } from '../source.ts';
import {
  type AnswerContent,
  type AnswerEntry,
  answerWith,
  type DocumentRequest,
  type Unreadable,
} from './answer-entry.ts';
import type { Monitor } from './monitor.ts';
import type { Asked } from './route.ts';

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
export function readAnswer<Part extends SourcePart, Raw>(
  monitor: Monitor,
  options: DocumentOptions<Part, Raw>,
  onLeave?: OnLeave,
): Awaitable<AnswerEntry> {
  const { part, key } = options;
  if (part === undefined) throw new MonitorError('source_not_configured');
  const now = Date.now();
  const before = freshnessOf(part, now, monitor.report);
  if (!hasData(before)) throw new MonitorError(errorOf(before) ?? 'source_unavailable');
  // Clients share the stream.
  const request = { part, before, now, client: monitor.nameClient(null) };
  return readEntry(monitor, options, request, { key: `stream ${key}`, keepsLast: false, onLeave });
}

/** How an answer is read. */
type ReadOptions = Required<Pick<ReadTask<unknown, unknown>, 'key' | 'keepsLast'>> & {
  readonly onLeave: OnLeave | undefined;
};

/** Reads and builds an answer. Returns no promise if the source does not, and the work fits into this turn. */
export function readEntry<Part extends SourcePart, Raw>(
  monitor: Monitor,
  options: DocumentOptions<Part, Raw>,
  request: DocumentRequest<Part>,
  { key, keepsLast, onLeave }: ReadOptions,
): Awaitable<AnswerEntry> {
  if ('make' in options) return options.make(request, onLeave);
  const { part, client, now } = request;
  return monitor.reader.read<Raw, AnswerEntry>(
    {
      part,
      call: options.call,
      key,
      client,
      keepsLast,
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
  const unreadable = sum(content?.unreadable ?? NONE, result.leftOut);
  for (const [name, count] of unreadable) monitor.countUnreadable({ name }, options.call, count);
  return answerWith(content && { ...content, unreadable }, freshness, now);
}

const NONE: Unreadable = new Map();

function sum(some: Unreadable, others: Unreadable): Unreadable {
  if (others.size === 0) return some;
  const all = new Map(some);
  for (const [name, count] of others) all.set(name, (all.get(name) ?? 0) + count);
  return all;
}

/** The cache key of a request: the same for all URLs with the same meaning. */
export function keyOf(route: RouteName, { taskId, values }: Asked<unknown>): string {
  return JSON.stringify([route, taskId, values]);
}
