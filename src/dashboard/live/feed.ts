/** The one stream of a tab: what happens in the deployment, as it happens. Ends while nobody looks. */
import { type EventBody, type EventsBody, MonitorClientError } from '../../client.ts';
import { createStore } from '../store.ts';
import { client, lose } from './connection.ts';

export interface Feed {
  /** Newest first. */
  readonly events: readonly EventBody[];
  /** False where the deployment has no feed: views then ask again by the clock alone. */
  readonly available: boolean;
}

const MOST_KEPT = 300;
const RESTART_MS = 5_000;

export const feed = createStore<Feed>({ events: [], available: true });

type Listener = (events: readonly EventBody[]) => void;
const listeners = new Set<Listener>();

/** Calls for every batch of news. @returns what ends it */
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
        // Who has no feed will have none in a second.
        if (isAbsent(error)) inner.abort();
        else if (!(error instanceof MonitorClientError)) lose();
      };
      for await (const body of client.watchEvents(query, { signal: inner.signal, onRetry })) take(body);
      if (inner.signal.aborted && !signal.aborted) {
        feed.set({ events: [], available: false });
        return;
      }
    } catch {
      // The cursor is of another list, or this reader may not see the feed any more.
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

export function startFeed(): void {
  document.addEventListener('visibilitychange', attend);
  attend();
}
