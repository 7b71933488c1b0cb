import type { Agent as HttpAgent } from 'node:http';

/** Where the metrics exporter is and how it is asked. */
export interface MetricsOptions {
  /**
   * The exporter's whole address, `http:` or `https:`, such as `http://127.0.0.1:9100/metrics`. User and
   * password in it become an `Authorization` header and are never shown. Link-local addresses
   * (169.254/16) are refused.
   */
  readonly url: string | URL;
  /**
   * Names of query parameters that clients may pass on to the exporter, such as `name[]`. Any other name
   * answers 400. Default: none.
   */
  readonly query?: readonly string[];
  /** Headers sent with every scrape, such as `{ authorization: 'Bearer …' }`. Never shown. Default: none. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Longest time for one scrape, from its start to the last byte, in milliseconds. 1 to 600,000.
   * Default 5,000: Prometheus itself gives up after 10 s.
   */
  readonly timeoutMs?: number;
  /** Largest answer of the exporter, in bytes. 1 to 1 GiB. Default 8 MiB. */
  readonly maxBytes?: number;
  /**
   * Connects to the exporter: an `Agent` of `node:https` holds a client certificate or a private CA.
   * Default: a new connection for each scrape.
   */
  readonly agent?: HttpAgent;
}

/** Checked {@link MetricsOptions}, with nothing secret that printing or serializing could show. */
export interface ResolvedMetrics {
  /** Scheme, host and port, such as `http://127.0.0.1:9100`. */
  readonly origin: string;
  /** Path and the host's own query, such as `/metrics?target=a`. */
  readonly path: string;
  /** For people: the address without user, password and query. */
  readonly displayUrl: string;
  /** Names of query parameters that are passed on. */
  readonly query: readonly string[];
  /** Headers of every scrape, names in lower case. A function, so that no log line shows them. */
  readonly requestHeaders: () => Readonly<Record<string, string>>;
  /** Milliseconds. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly agent: HttpAgent | null;
}
