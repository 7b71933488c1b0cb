/** The event stream that all views of a tab share. It is closed while the tab is hidden. */
import { type EventBody, type EventsBody, MonitorClientError } from '../../client.ts';
import { createStore } from '../store.ts';
import { client, lose } from './connection.ts';

/** The latest events. */
export interface Feed {
  /** Newest first. */
  readonly events: readonly EventBody[];
  /** False when no source has a feed. Views then refresh by time only. */
  readonly available: boolean;
}

const MOST_KEPT = 300;
const RESTART_MS = 5_000;

/** The latest events; the 300 newest are kept. */
export const feed = createStore<Feed>({ events: [], available: true });

type Listener = (events: readonly EventBody[]) => void;
const listeners = new Set<Listener>();

/** Calls `listener` with every batch of new events. @returns function that unsubscribes */
export function onNews(listener: Listener): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

let cursor: string | null = null;
let controller: AbortController | null = null;

function take({ events, gap, cursor: next }: EventsBody): void {
  cursor = next;
  if (events.length === 0) return;
  const known = new Set(events.map(({ id }) => id));
  const before = gap ? [] : feed.get().events.filter(({ id }) => !known.has(id));
  feed.set({ available: true, events: [...events, ...before].slice(0, MOST_KEPT) });
  for (const listener of listeners) listener(events);
}

async function follow(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const inner = new AbortController();
    const leave = (): void => inner.abort();
    signal.addEventListener('abort', leave);
    try {
      const query = cursor === null ? { limit: 200 } : { limit: 200, since: cursor };
      const onRetry = (error: unknown): void => {
        // A missing feed will not appear by retrying.
        if (isAbsent(error)) inner.abort();
        else if (!(error instanceof MonitorClientError)) lose();
      };
      for await (const body of client.watchEvents(query, { signal: inner.signal, onRetry })) take(body);
      if (inner.signal.aborted && !signal.aborted) {
        feed.set({ events: [], available: false });
        return;
      }
    } catch {
      // The cursor belongs to another feed, or the reader has lost access to the feed.
      cursor = null;
    } finally {
      signal.removeEventListener('abort', leave);
    }
    await new Promise((resolve) => setTimeout(resolve, RESTART_MS));
  }
}

const isAbsent = (error: unknown): boolean =>
  error instanceof MonitorClientError && error.code === 'source_not_configured';

function attend(): void {
  if (document.hidden) {
    controller?.abort();
    controller = null;
  } else if (controller === null) {
    controller = new AbortController();
    void follow(controller.signal);
  }
}

/** Starts the stream, and stops it while the tab is hidden. Call it once. */
export function startFeed(): void {
  document.addEventListener('visibilitychange', attend);
  attend();
}
