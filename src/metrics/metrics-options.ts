/**
 * The options `metrics`: own metrics of the library; and `exporter`: an exporter whose answer is served instead.
 */
import { type Agent as HttpAgent, validateHeaderName, validateHeaderValue } from 'node:http';
import {
  checked,
  flag,
  MONITOR,
  names,
  type OptionsOf,
  type OptionTable,
  optionalGroup,
  readOptions,
  wholeNumber,
  wrongOption,
} from '../check-options.ts';
import { isRecord } from '../values.ts';
import { isForbiddenAddress } from './forbidden-address.ts';

/** A `Registry` of prom-client 15. */
export interface MetricsRegister {
  readonly contentType: string;
  metrics(): Promise<string>;
  getSingleMetric(name: string): unknown;
  registerMetric(metric: never): void;
  removeSingleMetric(name: string): void;
}

/** Own metrics of the library: what the sources count, and figures about the monitor. They need `prom-client`. */
export interface MetricsOptions {
  /** Whether series of tasks have the label `hostname`, one value for each worker. Default false. */
  readonly hostname?: boolean;
  /**
   * The host's own registry. The metrics are added to it, and `/metrics` serves all of it. They are removed when the
   * router is closed. Default: a separate registry.
   */
  readonly register?: MetricsRegister;
}

/** {@link MetricsOptions}, checked, with every default filled in. */
export type ResolvedMetrics = OptionsOf<typeof METRICS>;

const METHODS = ['metrics', 'getSingleMetric', 'registerMetric', 'removeSingleMetric'];

/** The methods of a class are not own properties. */
function isRegister(given: unknown): given is MetricsRegister {
  return isRecord(given) && METHODS.every((name) => typeof given[name] === 'function');
}

const METRICS = {
  hostname: flag(false),
  register: checked(isRegister, "a Registry of prom-client, such as its 'register'", null),
} satisfies OptionTable<MetricsOptions>;

/** The option `metrics`; `null`: nothing is counted. */
export const readMetrics = optionalGroup(METRICS, { example: '{ hostname: true }' }, false);

/** Address of an exporter and how to request it. */
export interface ExporterOptions {
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

/** Checked {@link ExporterOptions}. Printing or serializing them shows no secret. */
export type ResolvedExporter = NonNullable<ReturnType<typeof readExporter>>;

const EXAMPLE = "'http://127.0.0.1:9100/metrics'";

const EXPORTER = {
  url: readUrl,
  query: names("names of query parameters, such as ['name[]']"),
  headers: checked(isRecord, "an object such as { authorization: 'Bearer …' }", {}),
  timeoutMs: wholeNumber({ least: 1, most: 600_000, fallback: 5_000 }),
  maxBytes: wholeNumber({ least: 1, most: 1024 ** 3, fallback: 8 * 1024 * 1024 }),
  agent: checked(isAgent, 'an Agent of node:http or node:https', null),
} satisfies OptionTable<ExporterOptions>;

/**
 * Checks the option `exporter` and fills in its defaults: options, or only the URL.
 *
 * @returns `null` if no exporter is configured
 * @throws TypeError that says what to write; it never repeats the URL or a header, which may contain a secret
 */
export function readExporter(option: unknown) {
  if (option === undefined) return null;
  const given = typeof option === 'string' ? { url: option } : option;
  if (!isRecord(given) || given instanceof URL) {
    throw wrongOption(MONITOR, 'exporter', `the exporter's URL, such as ${EXAMPLE}, or { url, … }`, given);
  }
  const words = { example: `{ url: ${EXAMPLE} }`, group: 'exporter' };
  const { url, query, headers, agent, ...limits } = readOptions(MONITOR, given, EXPORTER, words);
  const requestHeaders = resolveHeaders(url, headers);
  return Object.freeze({
    ...limits,
    /** Scheme, host and port, such as `http://127.0.0.1:9100`. */
    origin: url.origin,
    /** Path and query from the configured URL, such as `/metrics?target=a`. */
    path: url.pathname + url.search,
    /** The address without user, password and query, for display. */
    displayUrl: url.origin + url.pathname,
    query: checkQuery(url, query),
    /** Headers of every scrape, with names in lower case. A function: logging the object does not show them. */
    requestHeaders: () => requestHeaders,
    agent: checkAgent(url, agent),
  });
}

/** Never repeats the URL, which may contain a secret. */
function readUrl(given: unknown): URL {
  const text = given instanceof URL ? given.href : given;
  if (typeof text !== 'string' || !URL.canParse(text)) {
    throw wrongOption(MONITOR, 'exporter.url', `the exporter's whole URL, such as ${EXAMPLE}`, given);
  }
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new TypeError(`${MONITOR}: 'exporter.url' must begin with http: or https:, such as ${EXAMPLE}.`);
  }
  if (isForbiddenAddress(url.hostname)) {
    throw new TypeError(
      `${MONITOR}: 'exporter.url' must not be a link-local address (169.254/16, fe80::/10), or that of a cloud metadata service, which gives credentials away.`,
    );
  }
  // http-proxy-middleware 3 would silently request another path.
  if (url.pathname.includes('//')) {
    throw new TypeError(
      `${MONITOR}: 'exporter.url' must not have an empty path segment (//). Write each slash once.`,
    );
  }
  return url;
}

function checkQuery(url: URL, given: readonly string[]): readonly string[] {
  const unique = [...new Set(given)];
  // Otherwise a client could add a second value to a parameter that the host has fixed.
  const fixed = unique.find((name) => url.searchParams.has(name));
  if (fixed !== undefined) {
    throw new TypeError(
      `${MONITOR}: 'exporter.query' lists '${fixed}', which 'exporter.url' already sets. Remove one of them.`,
    );
  }
  return Object.freeze(unique);
}

function checkAgent(url: URL, agent: HttpAgent | null): HttpAgent | null {
  if (agent !== null && 'protocol' in agent && typeof agent.protocol === 'string') {
    if (agent.protocol === url.protocol) return agent;
    const expected = `an Agent of node:${url.protocol.slice(0, -1)}, because of 'exporter.url'`;
    throw wrongOption(MONITOR, 'exporter.agent', expected, agent);
  }
  return agent;
}

function isAgent(given: unknown): given is HttpAgent {
  return typeof given === 'object' && given !== null && 'addRequest' in given && 'destroy' in given;
}

/** Headers that the monitor or HTTP itself sets. A host's value would break the scrape or its safety. */
const OURS: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** The headers of every scrape: those of the host, and `Authorization` from user and password in the URL. */
function resolveHeaders(
  url: URL,
  given: Readonly<Record<string, unknown>>,
): Readonly<Record<string, string>> {
  const headers: Record<string, string> = Object.create(null);
  for (const [name, value] of Object.entries(given)) headers[readName(name)] = readValue(name, value);
  const authorization = authorizationOf(url);
  if (authorization === null) return Object.freeze(headers);
  if ('authorization' in headers) {
    throw new TypeError(
      `${MONITOR}: 'exporter' has user and password in its url and an authorization header. Remove one of them.`,
    );
  }
  return Object.freeze({ ...headers, authorization });
}

function readName(name: string): string {
  const lower = name.toLowerCase();
  if (OURS.has(lower)) {
    throw new TypeError(
      `${MONITOR}: 'exporter.headers' must not set '${lower}': the monitor sets it itself.`,
    );
  }
  try {
    validateHeaderName(name);
  } catch {
    throw new TypeError(`${MONITOR}: 'exporter.headers' has a name that is not an HTTP header name.`);
  }
  return lower;
}

function readValue(name: string, value: unknown): string {
  if (typeof value !== 'string') throw wrongOption(MONITOR, `exporter.headers.${name}`, 'a string', value);
  try {
    validateHeaderValue(name, value);
  } catch {
    throw new TypeError(`${MONITOR}: 'exporter.headers.${name}' has a character that no header may have.`);
  }
  return value;
}

/** User and password of the URL as a header (RFC 7617); `null` without them. */
function authorizationOf({ username, password }: URL): string | null {
  if (username === '' && password === '') return null;
  try {
    const login = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    return `Basic ${Buffer.from(login, 'utf8').toString('base64')}`;
  } catch {
    throw new TypeError(
      `${MONITOR}: 'exporter.url' has a user or password with a broken percent-encoding. Write % as %25.`,
    );
  }
}
