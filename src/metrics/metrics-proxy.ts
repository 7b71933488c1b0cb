/** `GET /metrics` with an exporter: equal scrapes share one request, and its reply is reused for a second. */
import type { IncomingHttpHeaders } from 'node:http';
import { debugChannel } from '../debug.ts';
import { isMonitorError, MonitorError } from '../errors.ts';
import { createLruCache } from '../lru-cache.ts';
import { type Call, createSingleFlight, type OnLeave, WAITER_LEFT } from '../single-flight.ts';
import { waitFor } from '../waiting.ts';
import { preferredFormat } from './formats.ts';
import type { ResolvedExporter } from './metrics-options.ts';
import { type MetricsReply, type Scrape, scrapeExporter } from './scrape.ts';

/** One client's request. */
export interface ScrapeRequest {
  /**
   * Of the client. None is forwarded: `Accept` selects the format that is requested from the exporter, and another one
   * shows that the client is a monitor.
   */
  readonly headers: IncomingHttpHeaders;
  /** The allowed parameters of the client's query, added to the path. */
  readonly query: URLSearchParams;
  /** Registers a listener for when the client disconnects. After the last disconnect the scrape is aborted, too. */
  readonly onLeave?: OnLeave;
}

/** What `/metrics` serves. */
export interface MetricsServer {
  /**
   * The whole exposition. It is at most a second old, and shared by concurrent equal requests.
   * Rejects with a MonitorError: `exporter_invalid`, `exporter_unavailable`, `exporter_timeout` or `overloaded`;
   * or with {@link WAITER_LEFT} when the client has disconnected.
   */
  scrape(request: ScrapeRequest): Promise<MetricsReply>;
  /**
   * Whether the exporter answers, for the `metrics` component; `null` while that is unknown. Takes at
   * most a second, never rejects, and sends the exporter at most one request in five seconds.
   */
  check(): Promise<boolean | null>;
  /** Aborts open scrapes; later ones fail with `overloaded`. */
  close(): void;
}

const debug = debugChannel('metrics');

/** Sent with every scrape. A request with this header comes from a monitor: scraping again would cause a loop. */
const LOOP_HEADER = 'x-express-task-monitor-scrape';
const LOOP = 'The metrics exporter is a task monitor itself. Point exporter.url at the exporter.';
const CLOSED = 'The monitor was closed.';

/** How long after the start of a scrape its reply answers later requests, in milliseconds. */
const KEEP_MS = 1_000;
const MOST_SCRAPES = 8;
const MOST_KEPT = 4;

// Whether the exporter answers: an outcome younger than FRESH_MS is not checked again, one older than OLD_MS is not
// shown.
const FRESH_MS = 5_000;
const OLD_MS = 30_000;
// The components page does not wait longer for a slow exporter. The scrape continues, and the next page shows
// its result.
const WAIT_MS = 1_000;

/** Creates the proxy. */
export function createMetricsProxy(resolved: ResolvedExporter): MetricsServer {
  const scrapes = createSingleFlight<MetricsReply>();
  const aborts = new Set<AbortController>();
  const kept = createKeptReplies();
  let latest: { readonly isUp: boolean; readonly at: number } | null = null;
  let isClosed = false;

  async function scrapeOnce(key: string, scrape: Scrape, abort: AbortController): Promise<MetricsReply> {
    const startedAt = performance.now();
    aborts.add(abort);
    try {
      const reply = await scrapeExporter(resolved, scrape, abort.signal);
      if (!isClosed) kept.add(key, reply, startedAt + KEEP_MS);
      latest = { isUp: true, at: performance.now() };
      return reply;
    } catch (error) {
      if (!abort.signal.aborted) {
        if (isMonitorError(error)) debug('scrape of %s: %s', resolved.displayUrl, error.code);
        latest = { isUp: false, at: performance.now() };
      }
      throw error;
    } finally {
      aborts.delete(abort);
    }
  }

  function start(key: string, path: string, accept: string | undefined): Call<MetricsReply> {
    const abort = new AbortController();
    const scrape = { path, headers: headersOf(resolved, accept) };
    return { result: scrapeOnce(key, scrape, abort), abandon: () => abort.abort(WAITER_LEFT) };
  }

  async function scrape({ headers, query, onLeave }: ScrapeRequest): Promise<MetricsReply> {
    if (headers[LOOP_HEADER] !== undefined) throw new MonitorError('exporter_invalid', LOOP);
    if (isClosed) throw new MonitorError('overloaded', CLOSED);
    const path = appendQuery(resolved.path, query.toString());
    const format = preferredFormat(headers.accept);
    const key = JSON.stringify([path, format]);
    const reply = kept.get(key);
    if (reply !== null) return reply;
    if (!scrapes.has(key) && scrapes.size >= MOST_SCRAPES) throw new MonitorError('overloaded');
    return scrapes.run(key, () => start(key, path, format), onLeave);
  }

  const outcomeWithin = (ms: number): boolean | null =>
    latest !== null && performance.now() - latest.at < ms ? latest.isUp : null;

  return {
    scrape,
    async check() {
      if (isClosed) return null;
      const known = outcomeWithin(FRESH_MS);
      if (known !== null) return known;
      await waitFor(scrape({ headers: {}, query: new URLSearchParams() }), { ms: WAIT_MS });
      return outcomeWithin(OLD_MS);
    },
    close() {
      isClosed = true;
      kept.clear();
      for (const abort of aborts) abort.abort(new MonitorError('overloaded', CLOSED));
    },
  };
}

/** Replies that answer later requests, by path and format. */
function createKeptReplies() {
  const kept = createLruCache<{ readonly reply: MetricsReply; readonly until: number }>({
    entries: MOST_KEPT,
  });
  const dropExpired = (key: string): void => {
    if ((kept.get(key)?.until ?? Infinity) <= performance.now()) kept.delete(key);
  };
  return {
    /** @param until monotonic milliseconds */
    add(key: string, reply: MetricsReply, until: number): void {
      kept.set(key, { reply, until });
      // Frees the memory. A timer can fire slightly early.
      setTimeout(dropExpired, KEEP_MS + 1, key).unref();
    },
    get(key: string): MetricsReply | null {
      dropExpired(key);
      return kept.get(key)?.reply ?? null;
    },
    clear: () => kept.clear(),
  };
}

/** Those of the host and ours. */
function headersOf(resolved: ResolvedExporter, accept: string | undefined): Scrape['headers'] {
  const ours = { 'accept-encoding': 'identity', [LOOP_HEADER]: '1' };
  return { ...resolved.requestHeaders(), ...ours, ...(accept !== undefined && { accept }) };
}

/** Path and query of one scrape: those of the host, then those of the client. */
function appendQuery(path: string, query: string): string {
  if (query === '') return path;
  return `${path}${path.includes('?') ? '&' : '?'}${query}`;
}
