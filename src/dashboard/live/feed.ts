/** The event stream that all views of a tab share. It is closed while the tab is hidden. */
import { type EventsBody, MonitorClientError } from '../../client.ts';
import type { EventBody } from '../../wire.ts';
import { createStore } from '../store.ts';
import { client, connection, isShut, lose, streamedAt } from './connection.ts';

/** Number of new events from which views can decide what to read again. */
const NEWEST = 12;
/**
 * Once a second, the newest events and the number of the others: views read their data from their own routes, and all
 * events of a busy queue would be more data.
 */
const QUERY = { limit: 1_000, newest: NEWEST, gather: 1_000 };
const RESTART_MS = 5_000;
/** The time of two comments: a stream that is silent for longer is broken. */
export const SILENT_MS = 30_000;

/** False when no source has a feed. Views then refresh by time only. */
export const hasFeed = createStore(true);

/** The events of about a second. */
export interface News {
  /** Newest first. */
  readonly events: readonly EventBody[];
  /** Whether there were more events than `events` contains. */
  readonly isPartial: boolean;
}

type Listener = (news: News) => void;
const listeners = new Set<Listener>();

/** Calls `listener` with all news. @returns function that unsubscribes */
export function onNews(listener: Listener): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

let cursor: string | null = null;
let controller: AbortController | null = null;

function take({ events, gap, skipped, cursor: next }: EventsBody): void {
  cursor = next;
  if (events.length === 0) return;
  hasFeed.set(true);
  for (const listener of listeners) listener({ events, isPartial: gap || skipped > 0 });
}

/** Follows the feed until it is aborted or known to be absent. */
async function follow(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const isAvailable = await followOnce(signal);
    if (signal.aborted) return;
    if (!isAvailable) {
      hasFeed.set(false);
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, RESTART_MS));
  }
}

/** @returns false when there is no feed */
async function followOnce(signal: AbortSignal): Promise<boolean> {
  const inner = new AbortController();
  const leave = (): void => inner.abort();
  signal.addEventListener('abort', leave);
  const startedAt = Date.now();
  const watchdog = setInterval(() => {
    if (Date.now() - Math.max(startedAt, streamedAt.get() ?? 0) > SILENT_MS) leave();
  }, 1_000);
  let isAvailable = true;
  try {
    const query = cursor === null ? QUERY : { ...QUERY, since: cursor };
    const onRetry = (error: unknown): void => {
      // A missing feed will not appear by retrying.
      isAvailable = !isAbsent(error);
      if (!isAvailable) inner.abort();
      else if (!(error instanceof MonitorClientError)) lose();
    };
    for await (const body of client.watchEvents(query, { signal: inner.signal, onRetry })) take(body);
  } catch {
    // The cursor belongs to another feed, or the reader has lost access to the feed.
    cursor = null;
  } finally {
    clearInterval(watchdog);
    signal.removeEventListener('abort', leave);
  }
  return isAvailable;
}

const isAbsent = (error: unknown): boolean =>
  error instanceof MonitorClientError && error.code === 'source_not_configured';

function attend(): void {
  const isWanted = !document.hidden && !isShut(connection.get());
  if (!isWanted && controller !== null) {
    controller.abort();
    controller = null;
  } else if (isWanted && controller === null) {
    controller = new AbortController();
    void follow(controller.signal);
  }
}

/** Forgets the position in the feed of a reader who has lost access to it. */
function forget(): void {
  if (isShut(connection.get())) cursor = null;
}

/** Starts the stream, and stops it while the tab is hidden or the reader is signed out. Call it once. */
export function startFeed(): void {
  document.addEventListener('visibilitychange', attend);
  connection.subscribe(() => {
    attend();
    forget();
  });
  attend();
}
