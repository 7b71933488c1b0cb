import type { Agent as HttpAgent } from 'node:http';

/** Address of the metrics exporter and how to request it. */
export interface MetricsOptions {
  /**
   * Full URL of the exporter, `http:` or `https:`, such as `http://127.0.0.1:9100/metrics`. User and password
   * in it become an `Authorization` header and are never shown. Link-local addresses (169.254/16) and those of
   * cloud metadata services are rejected, even if a host name resolves to one.
   */
  readonly url: string | URL;
  /**
   * Names of the query parameters that clients may pass on to the exporter, such as `name[]`. Any other
   * parameter answers 400. Default: none.
   */
  readonly query?: readonly string[];
  /** Headers sent with every scrape, such as `{ authorization: 'Bearer …' }`. Never shown. Default: none. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Time limit of one scrape, from its start to the last byte, in milliseconds. 1 to 600,000. Default 5,000:
   * Prometheus itself gives up after 10 s.
   */
  readonly timeoutMs?: number;
  /** Maximum size of the exporter's response, in bytes. 1 to 1 GiB. Default 8 MiB. */
  readonly maxBytes?: number;
  /**
   * Agent for connections to the exporter. An `Agent` of `node:https` can hold a client certificate or a
   * private CA. With an agent that connects through a proxy, the proxy's address is the one that is checked.
   * Default: a new connection for each scrape.
   */
  readonly agent?: HttpAgent;
}

/** Checked {@link MetricsOptions}. Printing or serializing them shows no secret. */
export interface ResolvedMetrics {
  /** Scheme, host and port, such as `http://127.0.0.1:9100`. */
  readonly origin: string;
  /** Path and query from the configured URL, such as `/metrics?target=a`. */
  readonly path: string;
  /** The address without user, password and query, for display. */
  readonly displayUrl: string;
  /** Names of the query parameters that clients may pass on. */
  readonly query: readonly string[];
  /**
   * Headers of every scrape, with names in lower case. A function, so that logging the object does not show
   * them.
   */
  readonly requestHeaders: () => Readonly<Record<string, string>>;
  /** Milliseconds. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly agent: HttpAgent | null;
}
