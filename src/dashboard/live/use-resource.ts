/** Data of a view, kept current: by the feed's news, and by the clock where there are none. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { EventBody } from '../../client.ts';
import { onNews } from './feed.ts';

export interface Resource<T> {
  readonly data: T | null;
  /** Of the last attempt; `null` when it succeeded. The data stays. */
  readonly error: unknown;
  /** When the data came, in milliseconds since 1970. */
  readonly at: number | null;
  readonly reload: () => void;
}

export interface ResourceOptions {
  /** Milliseconds between two questions without news. Default 15,000. */
  readonly every?: number;
  /** Which news make the data old. Default: none do. */
  readonly news?: (event: EventBody) => boolean;
  /** Fewest milliseconds between two questions. Default 1,000. */
  readonly gap?: number;
  /** Whether the data of another key is shown until the new one comes. */
  readonly keep?: boolean;
}

interface Held<T> {
  readonly key: string;
  readonly data: T | null;
  readonly error: unknown;
  readonly at: number | null;
}

/**
 * One question at a time, whatever happens meanwhile; none while the tab is hidden.
 *
 * @param key what is asked for: another key asks anew
 */
export function useResource<T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
  { every = 15_000, gap = 1_000, keep = false, news }: ResourceOptions = {},
): Resource<T> {
  const [held, setHeld] = useState<Held<T>>({ key, data: null, error: null, at: null });
  const reload = useRef(() => {});
  const latest = useRef({ load, news });
  latest.current = { load, news };

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

    async function ask(): Promise<void> {
      if (isAsking || document.hidden) {
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
        if (!signal.aborted) {
          setHeld((before) =>
            before.key === key ? { ...before, error } : { key, data: null, error, at: null },
          );
        }
      }
      isAsking = false;
      if (!signal.aborted) plan(isDue ? gap : every);
    }

    function soon(): void {
      if (isDue) return;
      isDue = true;
      if (!isAsking) plan(Math.max(0, askedAt + gap - Date.now()));
    }

    function attend(): void {
      if (!document.hidden && (isDue || Date.now() - askedAt > gap)) void ask();
    }

    const stopNews = onNews((events) => {
      const { news: matters } = latest.current;
      if (matters !== undefined && events.some(matters)) soon();
    });
    document.addEventListener('visibilitychange', attend);
    reload.current = () => void ask();
    void ask();
    return () => {
      controller.abort();
      clearTimeout(timer);
      stopNews();
      document.removeEventListener('visibilitychange', attend);
    };
  }, [key, every, gap]);

  const isOther = held.key !== key;
  return {
    data: isOther && !keep ? null : held.data,
    error: isOther ? null : held.error,
    at: isOther && !keep ? null : held.at,
    reload: () => reload.current(),
  };
}
