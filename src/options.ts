/** The options of a monitor. Every option has a safe default; none is required. */
import type { IncomingMessage } from 'node:http';
import type { MonitorErrorCode } from './errors.ts';
import type { OnFinding } from './findings/finding.ts';
import type { ExporterOptions, MetricsOptions } from './metrics/metrics-options.ts';
import type { Awaitable, MonitorSources } from './source.ts';
import type { TaskDetailBody } from './wire.ts';

/** Names of the eleven routes and of the page with its files, as `authorize` and `onError` receive them. */
export type RouteName =
  | 'healthcheck'
  | 'components'
  | 'tasks'
  | 'task'
  | 'relations'
  | 'graph'
  | 'updates'
  | 'workers'
  | 'events'
  | 'schedules'
  | 'metrics'
  | 'dashboard';

/** A refusal by `authorize` that is more than a plain 403. */
export interface Refusal {
  /** 401: not signed in. 403: signed in, but may not see this. */
  readonly status: 401 | 403;
  /** For 401: the `WWW-Authenticate` header, such as `Basic realm="monitor"`. Default: none. */
  readonly challenge?: string;
  /** A sentence for the client. Default: one of this library. */
  readonly detail?: string;
}

/** A redirect by `authorize` to the host's login page, for users who are signed out. */
export interface SignInRedirect {
  /**
   * Where to sign in: a path such as `/login`, or an http(s) URL of the host's own origin: that of `publicUrl`, or
   * of the request's `Host` if `publicUrl` is not a URL. At most 2,048 printable ASCII characters. Only a browser that
   * opens the page is redirected; the API and the page's files answer 401.
   */
  readonly redirect: string;
  /** A sentence for clients of the API. Default: one of this library. */
  readonly detail?: string;
}

/**
 * Called before anything is read. Only `true` allows the request. `false`, any other value, a redirect to another
 * site, a throw, a rejection and no answer within `timeoutMs` result in 403; all but `false` are reported to
 * `onError`.
 */
export type Authorize<Request extends IncomingMessage = IncomingMessage> = (
  request: Request,
  route: RouteName,
) => Awaitable<boolean | Refusal | SignInRedirect>;

/** Limits on the size and cost of an answer. */
export interface LimitOptions {
  /** Longest text of a value in lists and graphs, in characters. 16 to 65,536. Default 256. */
  readonly preview?: number;
  /** Longest text of a value on a task's own page, in characters. 16 to 16,777,216. Default 65,536. */
  readonly detail?: number;
  /** Most tasks that one list answer examines where no index helps. 100 to 10,000,000. Default 20,000. */
  readonly scan?: number;
  /**
   * Most rows of one list answer, however many are requested; `next_cursor` continues it. 1 to 1,000. Default
   * 1,000.
   */
  readonly page?: number;
  /**
   * Most nodes of one graph, however many are requested; a larger graph is `truncated`. 1 to 20,000. Default 20,000.
   */
  readonly nodes?: number;
  /**
   * Most concurrent reads of sources. One part of a source (its tasks, its workers …) gets half of them, so that a slow
   * part does not affect the others; requests beyond either answer `overloaded`. 1 to 10,000. Default 64.
   */
  readonly concurrency?: number;
  /**
   * Most concurrent streams (Server-Sent Events); requests beyond this limit answer `overloaded`. 0 to 100,000.
   * Default 1,000.
   */
  readonly streams?: number;
  /**
   * Most bytes of messages that clients have not read yet, in all streams of the process; a message counts once,
   * however many clients read it. Beyond this limit, new streams answer `overloaded`, and clients that lag behind are
   * disconnected and continue later. 1 MiB to 16 GiB. Default 64 MiB.
   */
  readonly streamBytes?: number;
}

/** How `/healthcheck` behaves. */
export interface HealthOptions<Request extends IncomingMessage = IncomingMessage> {
  /** Allows control pings to workers, which are messages through the broker. Default false: heartbeats decide. */
  readonly ping?: boolean;
  /** How long a result is reused for later probes, in milliseconds. 0 to 60,000. Default 1,000. */
  readonly reuseMs?: number;
  /** The lowest severity of a finding that fails the check `findings`. Default `critical`. */
  readonly findings?: 'critical' | 'warning';
  /**
   * Decides who sees errors, findings, workers and latencies: if it does not return true, or throws, the answer has
   * only `ok` and the status. Called for requests that `authorize` allows. Default: all of them see everything.
   */
  readonly details?: (request: Request) => boolean;
}

/** A link in the page's head. */
export interface DashboardLink {
  /** 1 to 100 characters. */
  readonly text: string;
  /** An http(s) URL, or a path, which the browser reads against the page's address. */
  readonly url: string;
}

/** A link on a task's page. */
export interface TaskLink {
  /** 1 to 200 characters; a longer text is cut. */
  readonly text: string;
  /** An http(s) URL, or a path, which the browser reads against the page's address. At most 2,048 characters. */
  readonly url: string;
}

/** A task as its own route serves it: field names in snake_case, times in ISO 8601, without secrets. Frozen. */
export type LinkedTask = Readonly<Omit<TaskDetailBody, 'sources' | 'links'>>;

/**
 * Supplies links to other tools for a task, such as Sentry, Kibana or Grafana. Called when one task is read, never
 * for lists. It must return synchronously, with at most 10 links. There are none if it throws or returns anything
 * else, such as a promise; this is reported to `onError`, and so are invalid links, which are omitted. A result may
 * be reused until the task changes.
 */
export type TaskLinks = (task: LinkedTask) => readonly TaskLink[];

/** How the page is branded. */
export interface DashboardOptions {
  /** Shown in the page's head and in the browser's tab. 1 to 100 characters. Default `Task monitor`. */
  readonly title?: string;
  /** Shown in the page's head, at most 20. Default: none. */
  readonly links?: readonly DashboardLink[];
  /** An image before the title: an http(s) URL or a path. Default: none. */
  readonly logo?: string;
}

/** Something that the page marks in every chart, such as a deploy. */
export interface Marker {
  /** When it happened: a `Date`, ISO 8601 text or milliseconds since 1970. */
  readonly at: Date | string | number;
  /** Such as `v4.12`. The first 200 characters are shown. */
  readonly text: string;
  /** An http(s) URL, or a path, which the browser reads against the page's address. Default: none. */
  readonly url?: string | null;
}

/**
 * Supplies markers, in any order; the newest 500 are shown. Called on request, at most once in 10 s. Invalid markers
 * are omitted; after a throw, a rejection or a second without an answer, the markers of the last call are shown.
 */
export type Markers = () => Awaitable<readonly Marker[]>;

/** The origin of an error. */
export interface MonitorErrorContext {
  /** Error code of the response. `null`: a bug of this library, or a source that could not be closed. */
  readonly code: MonitorErrorCode | null;
  /** Name of the source; `null` when no source caused the error. */
  readonly source: string | null;
  /** What failed: the method of the source (`listTasks`), `authorize`, `markers`, `onFinding`, `close`, or the route's name. */
  readonly call: string;
  /** Number of errors with the same source, call and code that were suppressed since the last report. */
  readonly suppressed: number;
}

/** Called with the causes of error answers, at most once in 30 s for each source, call and code. */
export type OnError = (error: unknown, context: MonitorErrorContext) => void;

/** Options of a monitor. An option that is unknown or of the wrong type throws at creation. */
export interface MonitorOptions<Request extends IncomingMessage = IncomingMessage> {
  /** Where the data comes from. A route whose part is absent answers 501. Default: none. */
  readonly sources?: MonitorSources;
  /** Whether `/metrics` serves this library's own metrics, and how. Default: `/metrics` answers 404. */
  readonly metrics?: MetricsOptions | boolean;
  /** An exporter whose answer `/metrics` serves instead: its URL, or options. Default: none. */
  readonly exporter?: ExporterOptions | string;
  /**
   * Decides who may see what. `false`: the host guards this mount itself. Default: everyone may see everything, which
   * causes a warning in production (`NODE_ENV=production`).
   */
  readonly authorize?: Authorize<Request> | false;
  readonly limits?: LimitOptions;
  /**
   * Names the client of a request, such as its user. Long work of different clients takes turns, so that none keeps
   * the others waiting. Default: the address of the connection, which behind a proxy is the same for all.
   */
  readonly clientKey?: (request: Request) => string;
  /** Longest time for one read of a source, in milliseconds. 1 to 600,000. Default 5,000. */
  readonly timeoutMs?: number;
  /** Called when a finding is raised, and when it is cleared. Default: none; findings are only listed. */
  readonly onFinding?: OnFinding;
  readonly health?: HealthOptions<Request>;
  /** The page at the mount's root: its branding, or `false` for none. Default: a page without branding. */
  readonly dashboard?: DashboardOptions | boolean;
  /** Deploys and similar events, which the page marks in its charts. Default: none. */
  readonly markers?: Markers;
  /** Links to other tools for a task, shown on its page. Default: none. */
  readonly taskLinks?: TaskLinks;
  /** The public address of this monitor: a URL or a path. Default: the path at which it is mounted. */
  readonly publicUrl?: string;
  /** Names of query parameters that belong to the host and are ignored, such as `['token']`. Default: none. */
  readonly ignoreQuery?: readonly string[];
  /**
   * Called with the causes of error answers. An error that it throws is ignored. Default: the first error of each
   * code that the host can fix (an unreachable server, an `authorize` that throws) is printed as a process warning.
   */
  readonly onError?: OnError;
}

/** Options of `createMonitorHandler`. An option that is unknown or of the wrong type throws at creation. */
export interface MonitorHandlerOptions<Request extends IncomingMessage = IncomingMessage>
  extends MonitorOptions<Request> {
  /**
   * The path of the monitor in the URLs that the server receives, such as `/monitor`: for hosts that pass on the
   * whole URL. Default: none, for hosts that remove the path (Express, connect), and for a monitor at the root.
   */
  readonly basePath?: string;
}
