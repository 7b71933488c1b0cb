/** Loads the data of a view and refreshes it: on new events, and at an interval without events. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { EventBody } from '../../wire.ts';
import { currentRoute } from '../route.ts';
import { useStore } from '../store.ts';
import { isRefusal } from './connection.ts';
import { onNews } from './feed.ts';
import { isPaused } from './pace.ts';

/** Result of {@link useResource}. */
export interface Resource<T> {
  readonly data: T | null;
  /** Error of the latest attempt; `null` when it succeeded. Old data is kept, unless the user may no longer see it. */
  readonly error: unknown;
  /** When the data was loaded, in milliseconds since 1970. */
  readonly at: number | null;
  readonly reload: () => void;
}

/** When to load again. */
export interface ResourceOptions {
  /** Milliseconds between two requests when no event arrives. Default 15,000. */
  readonly every?: number;
  /** Whether an event makes the data stale. Default: none does. */
  readonly news?: (event: EventBody) => boolean;
  /** Minimum number of milliseconds between two requests, or a function that returns it. Default 1,000. */
  readonly gap?: number | (() => number);
  /** Whether to show the data of the previous key until the new data is loaded. Default false. */
  readonly keep?: boolean;
}

type Held<T> = Omit<Resource<T>, 'reload'> & { readonly key: string };

/** A failed attempt leaves the old data, unless the user may no longer see it. */
function afterError<T>(before: Held<T>, key: string, error: unknown): Held<T> {
  if (before.key === key && !isRefusal(error)) return { ...before, error };
  return { key, data: null, error, at: null };
}

/**
 * Loads data with at most one request at a time, and none while the tab is hidden. While the page is paused, it loads
 * once.
 *
 * @param request identifies the request, together with the chosen source; a new key loads again
 * @param load sends the request
 */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: listeners, timers and their clean-up share local variables
export function useResource<T>(
  request: string,
  load: (signal: AbortSignal) => Promise<T>,
  { every = 15_000, gap = 1_000, keep = false, news }: ResourceOptions = {},
): Resource<T> {
  const key = `${useStore(currentRoute).query.get('only') ?? ''} ${request}`;
  const [held, setHeld] = useState<Held<T>>({ key, data: null, error: null, at: null });
  const reload = useRef(() => {});
  const gapNow = typeof gap === 'number' ? () => gap : gap;
  const latest = useRef({ load, news, gapNow });
  latest.current = { load, news, gapNow };

  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    let isAsking = false;
    let isDue = false;
    let askedAt = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;

    function plan(delay: number): void {
      clearTimeout(timer);
      timer = setTimeout(() => void ask(), delay);
    }

    const rests = (): boolean => document.hidden || isPaused.get();

    async function ask(isWanted = false): Promise<void> {
      if (isAsking || (rests() && !isWanted)) {
        isDue = true;
        return;
      }
      isAsking = true;
      isDue = false;
      askedAt = Date.now();
      clearTimeout(timer);
      try {
        const data = await latest.current.load(signal);
        if (!signal.aborted) setHeld({ key, data, error: null, at: Date.now() });
      } catch (error) {
        if (!signal.aborted) setHeld((before) => afterError(before, key, error));
      }
      isAsking = false;
      if (!signal.aborted) plan(isDue ? latest.current.gapNow() : every);
    }

    function soon(): void {
      if (isDue) return;
      isDue = true;
      if (!isAsking) plan(Math.max(0, askedAt + latest.current.gapNow() - Date.now()));
    }

    function attend(): void {
      if (!rests() && (isDue || Date.now() - askedAt > latest.current.gapNow())) void ask();
    }

    const stopNews = onNews(({ events, isPartial }) => {
      const { news: matters } = latest.current;
      if (matters !== undefined && (isPartial || events.some(matters))) soon();
    });
    document.addEventListener('visibilitychange', attend);
    const stopPause = isPaused.subscribe(attend);
    reload.current = () => void ask(true);
    void ask(!document.hidden);
    return () => {
      controller.abort();
      clearTimeout(timer);
      stopNews();
      stopPause();
      document.removeEventListener('visibilitychange', attend);
    };
  }, [key, every]);

  const isOther = held.key !== key;
  return {
    data: isOther && !keep ? null : held.data,
    error: isOther ? null : held.error,
    at: isOther && !keep ? null : held.at,
    reload: () => reload.current(),
  };
}
