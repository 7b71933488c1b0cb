/** Follows changes through a stream, or by polling if streams do not work. */
import { MonitorClientError, type QueryValues, request, type Transport, urlOf } from './request.ts';

/** Options for following changes. */
export interface WatchOptions {
  /** Aborting it ends the iteration. */
  readonly signal?: AbortSignal;
  /** Called with each failure before it is retried. */
  readonly onRetry?: (error: unknown) => void;
  /** Interval between polls in milliseconds, if streams do not work. Default 2,000. */
  readonly pollMs?: number;
}

/** A body with a cursor. */
interface Placed {
  readonly cursor: string;
}

const SHORTEST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 30_000;
const POLL_MS = 2_000;

/** Whether another attempt would fail in the same way. */
const isFinal = (error: unknown): boolean =>
  error instanceof MonitorClientError &&
  error.status !== null &&
  error.status >= 400 &&
  error.status < 500 &&
  error.status !== 408 &&
  error.status !== 429;

/** Whether the caller has aborted. */
const isOver = (signal: AbortSignal | undefined): boolean => signal?.aborted === true;

/** Pause before the next attempt, in milliseconds. Throws errors that another attempt cannot fix. */
function pauseAfter(error: unknown, failures: number, options: WatchOptions): number {
  if (isFinal(error)) throw error;
  options.onRetry?.(error);
  const asked = error instanceof MonitorClientError ? (error.retryAfter ?? 0) * 1_000 : 0;
  return Math.max(asked, Math.min(SHORTEST_RETRY_MS * 2 ** failures, LONGEST_RETRY_MS));
}

/**
 * Retries until it succeeds; `null` when aborted.
 *
 * @throws MonitorClientError for a 4xx that another attempt cannot fix
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
 * Yields the bodies of a route without end, each continuing from the previous one. After a failure it resumes
 * from the last cursor.
 *
 * @param since first cursor; `null` starts with the current state
 * @throws MonitorClientError for a 4xx that another attempt cannot fix; other failures are retried
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
  let isFirst = true;
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
        // A proxy has blocked the stream, or the server does not offer one.
        const body = (await response.json()) as Body;
        failures = 0;
        pause = options.pollMs ?? POLL_MS;
        // Like a stream, which begins with the answer to the request.
        const isNews = isFirst || body.cursor !== cursor;
        isFirst = false;
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

/** One item of a stream. */
type StreamItem =
  | { readonly kind: 'message'; readonly id: string | null; readonly data: string }
  | { readonly kind: 'retry'; readonly ms: number };

/** The items of a body as they arrive (HTML Standard, 9.2.6 "Interpreting an event stream"). Ends with the stream and drops an incomplete message at the end. */
async function* readStream(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamItem> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let rest = '';
  let data: string[] = [];
  let id: string | null = null;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + decoder.decode(value, { stream: true })).split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (line === '') {
          if (data.length > 0) yield { kind: 'message', id, data: data.join('\n') };
          data = [];
          continue;
        }
        const [field, text] = fieldOf(line);
        if (field === 'data') data.push(text);
        else if (field === 'id') id = text;
        else if (field === 'retry' && /^\d{1,9}$/.test(text)) yield { kind: 'retry', ms: Number(text) };
      }
    }
  } finally {
    // Closes the connection when the consumer stops reading.
    await reader.cancel().catch(() => {});
  }
}

function fieldOf(line: string): [field: string, text: string] {
  const colon = line.indexOf(':');
  if (colon < 0) return [line, ''];
  return [line.slice(0, colon), line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)];
}
