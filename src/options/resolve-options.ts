import type { IncomingMessage } from 'node:http';
import {
  callback,
  checked,
  flag,
  group,
  MONITOR,
  names,
  type OptionPlace,
  type OptionsOf,
  type OptionTable,
  oneOf,
  optionalGroup,
  type Read,
  readOptions,
  text,
  wholeNumber,
  wrongOption,
} from '../check-options.ts';
import type { OnFinding } from '../findings/finding.ts';
import { readExporter, readMetrics } from '../metrics/metrics-options.ts';
import type {
  Authorize,
  DashboardLink,
  DashboardOptions,
  HealthOptions,
  LimitOptions,
  Markers,
  MonitorOptions,
  OnError,
  TaskLinks,
} from '../options.ts';
import { isWebLink } from '../text.ts';
import { PART_NAMES, readSources } from './sources.ts';

/** A function of the host that reads something from a request. */
type ReadRequest = (request: IncomingMessage) => unknown;

const LIMITS = {
  preview: wholeNumber({ least: 16, most: 65_536, fallback: 256 }),
  detail: wholeNumber({ least: 16, most: 16_777_216, fallback: 65_536 }),
  scan: wholeNumber({ least: 100, most: 10_000_000, fallback: 20_000 }),
  page: wholeNumber({ least: 1, most: 1_000, fallback: 1_000 }),
  nodes: wholeNumber({ least: 1, most: 20_000, fallback: 20_000 }),
  concurrency: wholeNumber({ least: 1, most: 10_000, fallback: 64 }),
  streams: wholeNumber({ least: 0, most: 100_000, fallback: 1_000 }),
  streamBytes: wholeNumber({ least: 1_048_576, most: 17_179_869_184, fallback: 67_108_864 }),
} satisfies OptionTable<LimitOptions>;

const HEALTH = {
  ping: flag(false),
  reuseMs: wholeNumber({ least: 0, most: 60_000, fallback: 1_000 }),
  findings: oneOf(['critical', 'warning'], 'critical'),
  details: callback<ReadRequest>('(request) => request.user?.isAdmin === true'),
} satisfies OptionTable<HealthOptions>;

const LONGEST_TITLE = 100;
const MOST_LINKS = 20;
/** A URL stays as it is, so that a path also works behind a proxy that removes a prefix. */
const URL_EXPECTED = "an http(s) URL or a path such as 'https://example.com/runbook' or '/admin'";

/** Required if there is no fallback. */
function label<Default = never>(fallback?: Default): Read<string | Default> {
  const isRight = (given: string): boolean => given.trim() !== '' && given.length <= LONGEST_TITLE;
  return text(isRight, `a text of 1 to ${LONGEST_TITLE} characters`, fallback);
}

const LINK = {
  text: label<never>(),
  url: checked<string, never>(isWebLink, URL_EXPECTED),
} satisfies OptionTable<DashboardLink>;

const DASHBOARD = {
  title: label('Task monitor'),
  links: readLinks,
  logo: checked(isWebLink, URL_EXPECTED, null),
} satisfies OptionTable<DashboardOptions>;

/** The option `dashboard`; `null`: the page is disabled. */
const readDashboard = optionalGroup(DASHBOARD, { example: "{ title: 'Shop' }" }, true);

const TABLE = {
  sources: readSources,
  metrics: readMetrics,
  exporter: readExporter,
  authorize: readAuthorize,
  limits: group(LIMITS, { example: '{ preview: 256 }' }),
  clientKey: callback<ReadRequest>('(request) => request.ip'),
  timeoutMs: wholeNumber({ least: 1, most: 600_000, fallback: 5_000 }),
  onFinding: callback<OnFinding>('(finding, { link }) => sendMail(finding.summary)'),
  health: group(HEALTH, { example: '{ ping: true }' }),
  dashboard: readDashboard,
  markers: callback<Markers>("() => [{ at: new Date(), text: 'v4.12' }]"),
  taskLinks: callback<TaskLinks>("(task) => [{ text: 'Logs', url: '/logs?id=' + task.task_id }]"),
  publicUrl: readPublicUrl,
  ignoreQuery: readIgnoreQuery,
  onError: callback<OnError>('(error, context) => …'),
} satisfies OptionTable<MonitorOptions>;

const HINTS = {
  // The options are the sources themselves.
  ...Object.fromEntries(PART_NAMES.map((part) => [part, '{ sources }'])),
  redact: 'it as an option of the sources, such as celerySources({ redact }),',
};

/** {@link MonitorOptions}, checked, with every default filled in. An option without a default is `null`. */
export type ResolvedOptions = ReturnType<typeof resolveOptions>;

/**
 * Checks options and fills in their defaults.
 *
 * @throws TypeError that names the option, the type of its value, and what to write; never a secret
 */
export function resolveOptions(given: unknown = {}) {
  const words = { example: '{ sources: memorySources() }', hints: HINTS };
  const options = readOptions(MONITOR, given, TABLE, words);
  if (options.metrics !== null && options.exporter !== null) {
    throw new TypeError(
      `${MONITOR}: 'metrics' and 'exporter' cannot be served together: two concatenated expositions are not a valid one. Remove 'exporter', and let Prometheus scrape it, too.`,
    );
  }
  return Object.freeze({
    ...options,
    /** Whether the host has not set `authorize`. */
    unguarded: (given as MonitorOptions).authorize === undefined,
  });
}

function readAuthorize(given: unknown, place: OptionPlace): Authorize | null {
  const expected =
    '(request) => request.user?.isAdmin === true, or false when the host guards this mount itself';
  return given === false ? null : callback<Authorize>(expected)(given, place);
}

/** Without user, password and query; `null`: the mount path. */
function readPublicUrl(given: unknown, place: OptionPlace): string | null {
  // To parse a path, an origin is added and removed again.
  const base = 'http://localhost';
  const isRight = (url: string): boolean => /^(?:https?:\/\/|\/(?!\/))/i.test(url) && URL.canParse(url, base);
  const expected = "a URL such as 'https://example.com/monitor' or a path such as '/monitor'";
  const value = text(isRight, expected, null)(given, place);
  if (value === null) return null;
  const { origin, pathname } = new URL(value, base);
  return value.startsWith('/') ? pathname : origin + pathname;
}

function readIgnoreQuery(given: unknown, place: OptionPlace): ReadonlySet<string> {
  return new Set(names("names of query parameters, such as ['token']")(given, place));
}

/** {@link DashboardOptions}, checked, with every default filled in. */
export type ResolvedDashboard = OptionsOf<typeof DASHBOARD>;

function readLinks(given: unknown, { caller, option }: OptionPlace): readonly DashboardLink[] {
  if (given === undefined) return [];
  if (!Array.isArray(given) || given.length > MOST_LINKS) {
    const expected = `an array of at most ${MOST_LINKS} links such as { text: 'Runbook', url: 'https://example.com' }`;
    throw wrongOption(caller, option, expected, given);
  }
  const example = "{ text: 'Admin', url: '/admin' }";
  return given.map((link: unknown, index) =>
    readOptions(caller, link, LINK, { example, group: `${option}[${index}]` }),
  );
}
