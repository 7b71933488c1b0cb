/** Follows what changes, over streams where they get through and by asking again where they do not. */
import { MonitorClientError, type QueryValues, request, type Transport, urlOf } from './request.ts';
import { readStream } from './server-sent-events.ts';

/** How following goes on. */
export interface WatchOptions {
  /** Ends it. */
  readonly signal?: AbortSignal;
  /** Told of every failure that it gets over by itself. */
  readonly onRetry?: (error: unknown) => void;
  /** Milliseconds between two questions where no stream gets through. Default 2,000. */
  readonly pollMs?: number;
}

/** A body that says where it stands. */
interface Placed {
  readonly cursor: string;
}

const SHORTEST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 30_000;
const POLL_MS = 2_000;

/** Statuses that another attempt does not mend. */
const isFinal = (error: unknown): boolean =>
  error instanceof MonitorClientError &&
  error.status !== null &&
  error.status >= 400 &&
  error.status < 500 &&
  error.status !== 408 &&
  error.status !== 429;

/** Whether nobody wants to know any more. */
const isOver = (signal: AbortSignal | undefined): boolean => signal?.aborted === true;

/** How long to wait before another attempt, in milliseconds; throws what another attempt does not mend. */
function pauseAfter(error: unknown, failures: number, options: WatchOptions): number {
  if (isFinal(error)) throw error;
  options.onRetry?.(error);
  const asked = error instanceof MonitorClientError ? (error.retryAfter ?? 0) * 1_000 : 0;
  return Math.max(asked, Math.min(SHORTEST_RETRY_MS * 2 ** failures, LONGEST_RETRY_MS));
}

/**
 * Tries until it succeeds; `null` when it was aborted.
 *
 * @throws MonitorClientError for a 4xx
 */
export async function persist<T>(ask: () => Promise<T>, options: WatchOptions): Promise<T | null> {
  for (let failures = 0; !isOver(options.signal); failures += 1) {
    try {
      return await ask();
    } catch (error) {
      if (isOver(options.signal)) return null;
      await sleep(pauseAfter(error, failures, options), options.signal);
    }
  }
  return null;
}

/**
 * Every body of a route in turn, each following the one before, for ever. After a failure it goes on where
 * it stopped.
 *
 * @param since where to begin; `null`: with what there is
 * @throws MonitorClientError for a 4xx; everything else is tried again
 */
export async function* follow<Body extends Placed>(
  transport: Transport,
  path: string,
  query: QueryValues,
  since: string | null,
  options: WatchOptions,
): AsyncGenerator<Body> {
  const { signal } = options;
  const headers = { accept: 'text/event-stream' };
  let cursor = since;
  let failures = 0;
  while (!isOver(signal)) {
    let pause = SHORTEST_RETRY_MS;
    try {
      const url = urlOf(transport, path, { ...query, since: cursor });
      const response = await request(transport, url, { signal, headers });
      if (isStream(response)) {
        for await (const item of readStream(response.body)) {
          failures = 0;
          if (item.kind === 'retry') pause = item.ms;
          else {
            const body = JSON.parse(item.data) as Body;
            cursor = item.id ?? body.cursor;
            yield body;
          }
        }
      } else {
        // Something between has taken the stream away, or the server has none.
        const body = (await response.json()) as Body;
        failures = 0;
        pause = options.pollMs ?? POLL_MS;
        const isNews = body.cursor !== cursor;
        cursor = body.cursor;
        if (isNews) yield body;
      }
    } catch (error) {
      if (isOver(signal)) return;
      pause = pauseAfter(error, failures, options);
      failures += 1;
    }
    await sleep(pause, signal);
  }
}

function isStream(response: Response): response is Response & { body: ReadableStream<Uint8Array> } {
  return response.body !== null && /^text\/event-stream\b/.test(response.headers.get('content-type') ?? '');
}

function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    if (signal?.aborted === true) done();
    else signal?.addEventListener('abort', done);
  });
}
