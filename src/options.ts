/** The options of a monitor. Every option has a safe default; none is required. */
import type { IncomingMessage } from 'node:http';
import type { MonitorErrorCode } from './errors.ts';
import type { OnFinding } from './findings/on-finding.ts';
import type { MetricsOptions } from './metrics/metrics-options.ts';
import type { OwnMetricsOptions } from './metrics/own/own-metrics-options.ts';
import type { RedactFunction, RedactOptions } from './redact.ts';
import type { Awaitable, MonitorSources } from './source.ts';
import type { TaskDetailBody } from './wire.ts';

/** Names of the eleven routes and of the page with its files, as `authorize` and `onError` get them. */
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

/** How `authorize` refuses with more than a plain 403. */
export interface Refusal {
  /** 401: not signed in. 403: signed in, but may not see this. */
  readonly status: 401 | 403;
  /** For 401: the `WWW-Authenticate` header, such as `Basic realm="monitor"`. Default: none. */
  readonly challenge?: string;
  /** A sentence for the client. Default: one of this library. */
  readonly detail?: string;
}

/** How `authorize` sends a reader who is signed out to the host's login page. */
export interface SignInRedirect {
  /**
   * Where to sign in: a path such as `/login`, or an http(s) URL of the host's own origin or of that of
   * `publicUrl`. At most 2,048 printable ASCII characters. Only a browser that opens the page is redirected; the
   * API and the page's files answer 401.
   */
  readonly redirect: string;
  /** A sentence for clients of the API. Default: one of this library. */
  readonly detail?: string;
}

/**
 * Called before anything is read. Only `true` lets the request through. `false`, any other value, a redirect
 * to another site, a throw, a rejection and no answer within `timeoutMs` answer 403; all but `false` are reported
 * to `onError`.
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
  /** Most tasks that one list answer looks at where no index helps. 100 to 10,000,000. Default 20,000. */
  readonly scan?: number;
  /**
   * Most rows of one list answer, however many are requested; `next_cursor` continues it. 1 to 1,000. Default
   * 1,000.
   */
  readonly page?: number;
  /** Most nodes of one graph, however many are asked for; it is then `truncated`. 1 to 20,000. Default 20,000. */
  readonly nodes?: number;
  /** Most reads of sources at once; above it requests answer `overloaded`. 1 to 10,000. Default 64. */
  readonly concurrency?: number;
  /**
   * Most reads at once of one part of a source (its tasks, its workers …), so that a slow one leaves room
   * for the others; above it requests for that part answer `overloaded`. 1 to 10,000. Default 32.
   */
  readonly perSource?: number;
  /**
   * Most streams (Server-Sent Events) at once; above it requests for one answer `overloaded`. 0 to 100,000.
   * Default 1,000.
   */
  readonly streams?: number;
}

/** How `/healthcheck` behaves. */
export interface HealthOptions {
  /** Status when a check fails: 503, which load balancers understand, or 200 as celery_root answers. Default 503. */
  readonly failStatus?: 200 | 503;
  /** Allows control pings to workers, which are messages through the broker. Default false: heartbeats decide. */
  readonly ping?: boolean;
  /** How long a result answers later probes, in milliseconds. 0 to 60,000. Default 1,000. */
  readonly reuseMs?: number;
  /** On findings of which severity the check `findings` fails: critical ones, or all. Default `critical`. */
  readonly findings?: 'critical' | 'warning';
}

/** A link in the page's head. */
export interface DashboardLink {
  /** 1 to 100 characters. */
  readonly text: string;
  /** An http(s) URL, or a path, which the browser reads against the page's address. */
  readonly url: string;
}

/** A link beside a task. */
export interface TaskLink {
  /** 1 to 200 characters; a longer text is cut. */
  readonly text: string;
  /** An http(s) URL, or a path, which the browser reads against the page's address. At most 2,048 characters. */
  readonly url: string;
}

/** A task as its own route serves it: field names in snake_case, times in ISO 8601, without secrets. Frozen. */
export type LinkedTask = Readonly<Omit<TaskDetailBody, 'sources' | 'links'>>;

/**
 * Says where else to look for a task, such as in Sentry, Kibana or Grafana. Called when one task is read, never for
 * lists. It must answer at once, with at most 10 links. There are none if it throws or returns anything else, such as
 * a promise; that is reported to `onError`, and so are links that are left out because they are no links. An answer may
 * be shared until the task changes.
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
  /** When it happened: a `Date`, text as of ISO 8601 or milliseconds since 1970. */
  readonly at: Date | string | number;
  /** Such as `v4.12`. Of more than 200 characters, the first ones are shown. */
  readonly text: string;
  /** An http(s) URL, or a path, which the browser reads against the page's address. Default: none. */
  readonly url?: string | null;
}

/**
 * Supplies markers, in any order; the newest 500 are shown. Called when somebody looks, at most once in 10 s. What cannot
 * be read is left out; after a throw, a rejection or a second without an answer, the markers of the last call are shown.
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

/** Called with errors behind an answer, at most once in 30 s for each source, call and code. */
export type OnError = (error: unknown, context: MonitorErrorContext) => void;

/** Options of a monitor. An option that is unknown or of the wrong type throws at creation. */
export interface MonitorOptions<Request extends IncomingMessage = IncomingMessage> {
  /** Where the data comes from. A route whose part is absent answers 501. Default: none. */
  readonly sources?: MonitorSources;
  /**
   * What `/metrics` serves: with `{ own: true }` what this library counts, or the answer of an exporter, by its URL or
   * more. Default: `/metrics` answers 404.
   */
  readonly metrics?: OwnMetricsOptions | MetricsOptions | string | false;
  /**
   * Decides who may see what. `false`: the host guards this mount itself. Default: everybody may see
   * everything, which causes a warning in production (`NODE_ENV=production`).
   */
  readonly authorize?: Authorize<Request> | false;
  /**
   * Which values are shown as `***`: an object extends what usually names a secret, a function replaces it,
   * `false` shows everything. Default: what usually names a secret.
   */
  readonly redact?: RedactOptions | RedactFunction | false;
  readonly limits?: LimitOptions;
  /** Longest time for one read of a source, in milliseconds. 1 to 600,000. Default 5,000. */
  readonly timeoutMs?: number;
  /** Called when the rules find something, and when it is gone. Default: nobody is told. */
  readonly onFinding?: OnFinding;
  readonly health?: HealthOptions;
  /** The page at the mount's root: its branding, or `false` for none. Default: a page without branding. */
  readonly dashboard?: DashboardOptions | boolean;
  /** Deploys and the like, which the page marks in its charts. Default: none. */
  readonly markers?: Markers;
  /** Where else to look for a task, shown on its page. Default: nowhere. */
  readonly taskLinks?: TaskLinks;
  /** Where people find this monitor: a URL or a path. Default: the path that it is mounted at. */
  readonly publicUrl?: string;
  /** Names of query parameters that belong to the host and are ignored, such as `['token']`. Default: none. */
  readonly ignoreQuery?: readonly string[];
  /**
   * Called with errors behind an answer. An error that it throws is ignored. Default: the first error of each code
   * that the host can mend (a server that cannot be reached, an `authorize` that throws) is a process warning.
   */
  readonly onError?: OnError;
}

/** Options of `createMonitorHandler`. An option that is unknown or of the wrong type throws at creation. */
export interface MonitorHandlerOptions<Request extends IncomingMessage = IncomingMessage>
  extends MonitorOptions<Request> {
  /**
   * The path of the monitor in the URLs that the server gets, such as `/monitor`: for hosts that pass on the whole
   * URL. Default: none, for hosts that remove the path (Express, connect), and for a monitor at the root.
   */
  readonly basePath?: string;
}
