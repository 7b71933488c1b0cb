import type { IncomingMessage } from 'node:http';
import {
  type KeysOf,
  MONITOR,
  readBoolean,
  readFunction,
  readGroup,
  refuseUnknownKeys,
} from '../check-options.ts';
import type { OnFinding } from '../findings/on-finding.ts';
import type { ResolvedMetrics } from '../metrics/metrics-options.ts';
import { type ResolvedOwnMetrics, resolveOwnMetrics } from '../metrics/own/own-metrics-options.ts';
import { resolveMetrics } from '../metrics/resolve-metrics.ts';
import type {
  Authorize,
  HealthOptions,
  LimitOptions,
  Markers,
  MonitorOptions,
  OnError,
  TaskLinks,
} from '../options.ts';
import { resolveRedact } from '../redact.ts';
import type { MonitorSources } from '../source.ts';
import { isRecord } from '../values.ts';
import { type ResolvedDashboard, readDashboard } from './dashboard.ts';
import { PART_NAMES, resolveSources } from './sources.ts';
import { integer, wrong } from './wrong.ts';

/** {@link MonitorOptions}, checked, with every default filled in. */
export interface ResolvedOptions {
  readonly sources: MonitorSources;
  /** The exporter that is proxied; `null`: none. */
  readonly metrics: ResolvedMetrics | null;
  /** `null`: no own metrics. */
  readonly ownMetrics: ResolvedOwnMetrics | null;
  /** `null`: all requests are allowed. */
  readonly authorize: Authorize | null;
  /** True when the host has not set `authorize`. */
  readonly unguarded: boolean;
  readonly redact: MonitorOptions['redact'];
  readonly limits: Required<LimitOptions>;
  /** `null`: the address of the connection. */
  readonly clientKey: ReadRequest | null;
  readonly timeoutMs: number;
  /** `null`: findings are not reported. */
  readonly onFinding: OnFinding | null;
  readonly health: Required<Omit<HealthOptions, 'details'>> & {
    /** `null`: everybody sees everything. */
    readonly details: ReadRequest | null;
  };
  /** `null`: no page. */
  readonly dashboard: ResolvedDashboard | null;
  readonly markers: Markers | null;
  /** `null`: no links. */
  readonly taskLinks: TaskLinks | null;
  /** Without user, password and query; `null`: the mount path. */
  readonly publicUrl: string | null;
  readonly ignoreQuery: ReadonlySet<string>;
  readonly onError: OnError | null;
}

/** A function of the host that reads something from a request. */
type ReadRequest = (request: IncomingMessage) => unknown;
type ProxiedMetrics = Parameters<typeof resolveMetrics>[0];

// The compiler checks that every option is listed, so that none is rejected as unknown.
const OPTIONS: KeysOf<MonitorOptions> = {
  sources: true,
  metrics: true,
  authorize: true,
  redact: true,
  limits: true,
  clientKey: true,
  timeoutMs: true,
  onFinding: true,
  health: true,
  dashboard: true,
  markers: true,
  taskLinks: true,
  publicUrl: true,
  ignoreQuery: true,
  onError: true,
};
/** The options are the sources themselves. */
const HINTS = Object.fromEntries(PART_NAMES.map((part) => [part, '{ sources }']));
const LIMITS: KeysOf<LimitOptions> = {
  preview: true,
  detail: true,
  scan: true,
  page: true,
  nodes: true,
  concurrency: true,
  perSource: true,
  streams: true,
  streamBytes: true,
};
const HEALTH: KeysOf<HealthOptions> = {
  failStatus: true,
  ping: true,
  reuseMs: true,
  findings: true,
  details: true,
};

/**
 * Checks options and fills in their defaults.
 *
 * @throws TypeError that names the option, the type of its value, and what to write; never a secret
 */
export function resolveOptions(options: unknown = {}): ResolvedOptions {
  if (!isRecord(options)) throw wrong('options', 'an object such as { sources: memorySources() }', options);
  refuseUnknownKeys(MONITOR, options, OPTIONS, '', HINTS);
  const given: { readonly [Key in keyof MonitorOptions]?: unknown } = options;
  const ownMetrics = resolveOwnMetrics(given.metrics);
  return Object.freeze({
    sources: resolveSources(given.sources),
    metrics: ownMetrics === null ? resolveMetrics(given.metrics as ProxiedMetrics) : null,
    ownMetrics,
    authorize: readAuthorize(given.authorize),
    unguarded: given.authorize === undefined,
    redact: readRedact(given.redact),
    limits: readLimits(given.limits),
    clientKey: readFunction<ReadRequest>(MONITOR, 'clientKey', given.clientKey, '(request) => request.ip'),
    timeoutMs: integer('timeoutMs', given.timeoutMs, { least: 1, most: 600_000, fallback: 5_000 }),
    onFinding: readFunction<OnFinding>(
      MONITOR,
      'onFinding',
      given.onFinding,
      '(finding, { link }) => sendMail(finding.summary)',
    ),
    health: readHealth(given.health),
    dashboard: readDashboard(given.dashboard),
    markers: readFunction<Markers>(
      MONITOR,
      'markers',
      given.markers,
      "() => [{ at: new Date(), text: 'v4.12' }]",
    ),
    taskLinks: readFunction<TaskLinks>(
      MONITOR,
      'taskLinks',
      given.taskLinks,
      "(task) => [{ text: 'Logs', url: '/logs?id=' + task.task_id }]",
    ),
    publicUrl: readPublicUrl(given.publicUrl),
    ignoreQuery: readIgnoreQuery(given.ignoreQuery),
    onError: readFunction<OnError>(MONITOR, 'onError', given.onError, '(error, context) => …'),
  });
}

function readAuthorize(value: unknown): Authorize | null {
  if (value === false) return null;
  if (value !== undefined && typeof value !== 'function') {
    throw wrong(
      'authorize',
      'a function such as (request) => request.user?.isAdmin === true, or false when the host guards this mount itself',
      value,
    );
  }
  return (value as Authorize | undefined) ?? null;
}

function readRedact(value: unknown): MonitorOptions['redact'] {
  resolveRedact(value);
  return value as MonitorOptions['redact'];
}

function readLimits(value: unknown): Required<LimitOptions> {
  const limits = readGroup(MONITOR, 'limits', value, LIMITS, '{ preview: 256 }');
  return Object.freeze({
    preview: integer('limits.preview', limits.preview, { least: 16, most: 65_536, fallback: 256 }),
    detail: integer('limits.detail', limits.detail, { least: 16, most: 16_777_216, fallback: 65_536 }),
    scan: integer('limits.scan', limits.scan, { least: 100, most: 10_000_000, fallback: 20_000 }),
    page: integer('limits.page', limits.page, { least: 1, most: 1_000, fallback: 1_000 }),
    nodes: integer('limits.nodes', limits.nodes, { least: 1, most: 20_000, fallback: 20_000 }),
    concurrency: integer('limits.concurrency', limits.concurrency, {
      least: 1,
      most: 10_000,
      fallback: 64,
    }),
    perSource: integer('limits.perSource', limits.perSource, { least: 1, most: 10_000, fallback: 32 }),
    streams: integer('limits.streams', limits.streams, { least: 0, most: 100_000, fallback: 1_000 }),
    streamBytes: integer('limits.streamBytes', limits.streamBytes, {
      least: 1_048_576,
      most: 17_179_869_184,
      fallback: 67_108_864,
    }),
  });
}

function readHealth(value: unknown): ResolvedOptions['health'] {
  const health = readGroup(MONITOR, 'health', value, HEALTH, '{ failStatus: 200 }');
  const { failStatus = 503, findings = 'critical' } = health;
  if (failStatus !== 200 && failStatus !== 503) throw wrong('health.failStatus', '200 or 503', failStatus);
  if (findings !== 'critical' && findings !== 'warning') {
    throw wrong('health.findings', "'critical' or 'warning'", findings);
  }
  return Object.freeze({
    failStatus,
    findings,
    ping: readBoolean(MONITOR, 'health.ping', health.ping, false),
    reuseMs: integer('health.reuseMs', health.reuseMs, { least: 0, most: 60_000, fallback: 1_000 }),
    details: readFunction<ReadRequest>(
      MONITOR,
      'health.details',
      health.details,
      '(request) => request.user?.isAdmin === true',
    ),
  });
}

function readPublicUrl(value: unknown): string | null {
  if (value === undefined) return null;
  const expected = "a URL such as 'https://example.com/monitor' or a path such as '/monitor'";
  if (typeof value !== 'string') throw wrong('publicUrl', expected, value);
  // To parse a path, an origin is added and removed again.
  const isPath = /^\/(?!\/)/.test(value);
  if (!isPath && !/^https?:\/\//i.test(value)) throw wrong('publicUrl', expected, value);
  const base = 'http://localhost';
  if (!URL.canParse(value, base)) throw wrong('publicUrl', expected, value);
  const { origin, pathname } = new URL(value, base);
  return isPath ? pathname : origin + pathname;
}

function readIgnoreQuery(value: unknown): ReadonlySet<string> {
  if (value === undefined) return new Set();
  if (!Array.isArray(value) || !value.every((name) => typeof name === 'string' && name !== '')) {
    throw wrong('ignoreQuery', "names of query parameters, such as ['token']", value);
  }
  return new Set<string>(value);
}
