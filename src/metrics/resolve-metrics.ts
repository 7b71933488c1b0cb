import type { Agent as HttpAgent } from 'node:http';
import { isForbiddenAddress } from './forbidden-address.ts';
import type { MetricsOptions, ResolvedMetrics } from './metrics-options.ts';
import { resolveHeaders } from './resolve-headers.ts';

const EXAMPLE = "'http://127.0.0.1:9100/metrics'";

// The type requires one entry per option, so that no option is refused as unknown.
const KNOWN: Readonly<Record<keyof MetricsOptions, true>> = {
  url: true,
  query: true,
  headers: true,
  timeoutMs: true,
  maxBytes: true,
  agent: true,
};

/**
 * Checks the `metrics` option and fills in its defaults.
 *
 * @param option options, or only the exporter's URL; `false` or `undefined` turns `/metrics` off
 * @returns `null` when no exporter is configured
 * @throws TypeError that says what to write; it never repeats the URL or a header, which may contain a secret
 */
export function resolveMetrics(option: MetricsOptions | string | false | undefined): ResolvedMetrics | null {
  if (option === undefined || option === false) return null;
  const options = typeof option === 'string' ? { url: option } : option;
  if (typeof options !== 'object' || options === null || Array.isArray(options) || options instanceof URL) {
    throw new TypeError(`metrics must be the exporter's URL, such as ${EXAMPLE}, an object, or false.`);
  }
  for (const key of Object.keys(options)) {
    if (!Object.hasOwn(KNOWN, key)) {
      throw new TypeError(`metrics.${key} is not an option. Known are: ${Object.keys(KNOWN).join(', ')}.`);
    }
  }
  const url = readUrl(options.url);
  const headers = resolveHeaders(url, options.headers);
  return Object.freeze({
    origin: url.origin,
    path: url.pathname + url.search,
    displayUrl: url.origin + url.pathname,
    query: readQuery(url, options.query),
    requestHeaders: () => headers,
    timeoutMs: readInteger('timeoutMs', options.timeoutMs, 5_000, 600_000),
    maxBytes: readInteger('maxBytes', options.maxBytes, 8 * 1024 * 1024, 1024 * 1024 * 1024),
    agent: readAgent(url, options.agent),
  });
}

function readUrl(value: unknown): URL {
  const text = value instanceof URL ? value.href : value;
  if (typeof text !== 'string' || !URL.canParse(text)) {
    throw new TypeError(`metrics.url must be the exporter's whole URL, such as ${EXAMPLE}.`);
  }
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new TypeError(`metrics.url must begin with http: or https:, such as ${EXAMPLE}.`);
  }
  if (isForbiddenAddress(url.hostname)) {
    throw new TypeError(
      'metrics.url must not be a link-local address (169.254/16, fe80::/10) or that of a cloud metadata service, which gives credentials away.',
    );
  }
  // http-proxy-middleware 3 would silently request another path.
  if (url.pathname.includes('//')) {
    throw new TypeError('metrics.url must not have an empty path segment (`//`); write each slash once.');
  }
  return url;
}

function readQuery(url: URL, value: unknown): readonly string[] {
  if (value === undefined) return Object.freeze([]);
  if (!Array.isArray(value) || !value.every((name) => typeof name === 'string' && name !== '')) {
    throw new TypeError("metrics.query must list names of query parameters, such as ['name[]'].");
  }
  const names = [...new Set<string>(value)];
  for (const name of names) {
    // Otherwise a client could add a second value to a parameter that the host has fixed.
    if (url.searchParams.has(name)) {
      throw new TypeError(
        `metrics.query lists '${name}', which metrics.url already sets. Remove one of them.`,
      );
    }
  }
  return Object.freeze(names);
}

function readInteger(name: string, value: unknown, fallback: number, most: number): number {
  if (value === undefined) return fallback;
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1 || value > most) {
    throw new TypeError(`metrics.${name} must be a whole number from 1 to ${most}, such as ${fallback}.`);
  }
  return value;
}

function readAgent(url: URL, value: unknown): HttpAgent | null {
  if (value === undefined) return null;
  if (!isAgent(value)) {
    throw new TypeError('metrics.agent must be an Agent of node:http or node:https.');
  }
  if ('protocol' in value && typeof value.protocol === 'string' && value.protocol !== url.protocol) {
    throw new TypeError(
      `metrics.agent must be an Agent of node:${url.protocol.slice(0, -1)}, as metrics.url is.`,
    );
  }
  return value;
}

function isAgent(value: unknown): value is HttpAgent {
  return typeof value === 'object' && value !== null && 'addRequest' in value && 'destroy' in value;
}
