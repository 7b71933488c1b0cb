import { validateHeaderName, validateHeaderValue } from 'node:http';
import { type KeysOf, MONITOR, readInteger, refuseUnknownKeys, wrongOption } from '../check-options.ts';
import {
  basicAuthorization,
  type OptionName,
  readAgent,
  readLogin,
  readTargetUrl,
} from '../outgoing/target.ts';
import { isRecord } from '../values.ts';
import type { MetricsOptions, ResolvedMetrics } from './metrics-options.ts';

/** The function that takes these options, for error messages. */
const NAME: OptionName = { caller: MONITOR, group: 'metrics' };

const EXAMPLE = "'http://127.0.0.1:9100/metrics'";

const KEYS: KeysOf<MetricsOptions> = {
  url: true,
  query: true,
  headers: true,
  timeoutMs: true,
  maxBytes: true,
  agent: true,
};

/** In milliseconds. */
const TIMEOUT = { least: 1, most: 600_000, fallback: 5_000 };
/** In bytes. */
const SIZE = { least: 1, most: 1024 ** 3, fallback: 8 * 1024 * 1024 };

/**
 * Checks the `metrics` option and fills in its defaults.
 *
 * @param option options, or only the exporter's URL; `false` or `undefined` turns `/metrics` off
 * @returns `null` if no exporter is configured
 * @throws TypeError that says what to write; it never repeats the URL or a header, which may contain a secret
 */
export function resolveMetrics(option: MetricsOptions | string | false | undefined): ResolvedMetrics | null {
  if (option === undefined || option === false) return null;
  const options = typeof option === 'string' ? { url: option } : option;
  if (!isRecord(options) || options instanceof URL) {
    throw wrongOption(
      MONITOR,
      'metrics',
      `{ own: true }, the exporter's URL, such as ${EXAMPLE}, or false`,
      options,
    );
  }
  refuseUnknownKeys(MONITOR, options, KEYS, 'metrics.');
  const url = readUrl(options.url);
  const headers = resolveHeaders(MONITOR, url, options.headers);
  return Object.freeze({
    origin: url.origin,
    path: url.pathname + url.search,
    displayUrl: url.origin + url.pathname,
    query: readQuery(url, options.query),
    requestHeaders: () => headers,
    timeoutMs: readInteger(MONITOR, 'metrics.timeoutMs', options.timeoutMs, TIMEOUT),
    maxBytes: readInteger(MONITOR, 'metrics.maxBytes', options.maxBytes, SIZE),
    agent: readAgent(NAME, url, options.agent),
  });
}

function readUrl(value: unknown): URL {
  const url = readTargetUrl(NAME, value, "the exporter's whole URL", EXAMPLE);
  // http-proxy-middleware 3 would silently request another path.
  if (url.pathname.includes('//')) {
    throw new TypeError(
      `${MONITOR}: 'metrics.url' must not have an empty path segment (//). Write each slash once.`,
    );
  }
  return url;
}

function readQuery(url: URL, value: unknown): readonly string[] {
  if (value === undefined) return Object.freeze([]);
  if (!Array.isArray(value) || !value.every((name) => typeof name === 'string' && name !== '')) {
    throw wrongOption(MONITOR, 'metrics.query', "names of query parameters, such as ['name[]']", value);
  }
  const names = [...new Set<string>(value)];
  for (const name of names) {
    // Otherwise a client could add a second value to a parameter that the host has fixed.
    if (url.searchParams.has(name)) {
      throw new TypeError(
        `${MONITOR}: 'metrics.query' lists '${name}', which 'metrics.url' already sets. Remove one of them.`,
      );
    }
  }
  return Object.freeze(names);
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

/**
 * The headers of every scrape: those of the host, and `Authorization` from user and password in the URL.
 *
 * @param caller the function that was called, for messages
 * @throws TypeError that says what to write, without repeating the values
 */
function resolveHeaders(caller: string, url: URL, value: unknown): Readonly<Record<string, string>> {
  const headers: Record<string, string> = Object.create(null);
  if (value !== undefined) {
    if (!isRecord(value)) {
      throw wrongOption(caller, 'metrics.headers', "an object such as { authorization: 'Bearer …' }", value);
    }
    for (const [name, text] of Object.entries(value)) {
      headers[readName(caller, name)] = readValue(caller, name, text);
    }
  }
  const login = readLogin({ caller, group: 'metrics' }, url);
  if (login !== null) {
    if ('authorization' in headers) {
      throw new TypeError(
        `${caller}: 'metrics' has user and password in its url and an authorization header. Remove one of them.`,
      );
    }
    headers.authorization = basicAuthorization(login);
  }
  return Object.freeze(headers);
}

function readName(caller: string, name: string): string {
  const lower = name.toLowerCase();
  if (OURS.has(lower)) {
    throw new TypeError(`${caller}: 'metrics.headers' must not set '${lower}': the monitor sets it itself.`);
  }
  try {
    validateHeaderName(name);
  } catch {
    throw new TypeError(`${caller}: 'metrics.headers' has a name that is not an HTTP header name.`);
  }
  return lower;
}

function readValue(caller: string, name: string, value: unknown): string {
  if (typeof value !== 'string') throw wrongOption(caller, `metrics.headers.${name}`, 'a string', value);
  try {
    validateHeaderValue(name, value);
  } catch {
    throw new TypeError(`${caller}: 'metrics.headers.${name}' has a character that no header may have.`);
  }
  return value;
}
