/** What a row of the route table consists of. */

import type { MonitorErrorCode } from '../errors.ts';
import type { RouteName } from '../options.ts';
import type { MonitorRequest, MonitorResponse } from './exchange.ts';
import type { Monitor } from './monitor.ts';
import type { Query, ValuesOf } from './parameter.ts';

/** A request's path and query, as they were read. */
export interface Asked<Values> {
  readonly values: Values;
  /** Parameters at fault; their values are those of an absent parameter. */
  readonly faulty: ReadonlySet<string>;
  /** Decoded; empty for routes without it. */
  readonly taskId: string;
  /** The query as the client wrote it, ignored parameters included. */
  readonly pairs: readonly [name: string, value: string][];
}

/** Finds fault with a parameter, in a sentence that says what to write instead. */
export type Fault = (parameter: string, detail: string) => void;

/** Answers one request. What it throws or rejects with is answered as a problem, or is a bug of ours. */
export type Respond = (request: MonitorRequest, response: MonitorResponse) => void | Promise<void>;

/**
 * Does for a URL what can be done once, however often it is asked for. Called for faulty URLs as well, to
 * find what else is wrong with them.
 */
export type Prepare<Values> = (asked: Asked<Values>, fault: Fault) => Respond;

/** One row, as {@link defineRoute} takes it. */
export interface RouteRow<Q extends Query> {
  readonly name: RouteName;
  /** The canonical path, with `{task_id}` for the one parameter that there is. */
  readonly path: string;
  /** For the API's documentation. */
  readonly summary: string;
  readonly query: Q;
  /** Name of the 200 body's type in `wire.ts`; `null` where it is no JSON. */
  readonly body: string | null;
  /** Statuses beside 200 that carry this body. */
  readonly alsoWith?: readonly number[];
  /** Problems that this route can answer with, beside those that every route can. */
  readonly errors: readonly MonitorErrorCode[];
  /** Whether answers have an `ETag` and turn into 304. */
  readonly cached: boolean;
  /** Whether a client that accepts `text/event-stream` is sent its changes as they happen. Default: no. */
  readonly streams?: boolean;
  /** Names of parameters that the host's configuration adds. */
  passes?(monitor: Monitor): readonly string[];
  /** Called once per router. */
  open(monitor: Monitor): Prepare<ValuesOf<Q>>;
}

/** One of the eleven routes. */
export type Route = RouteRow<Query>;

/** Problems that every route can answer with. */
export const COMMON_ERRORS: readonly MonitorErrorCode[] = [
  'invalid_parameter',
  'unauthorized',
  'forbidden',
  'method_not_allowed',
  'overloaded',
];

/** Problems of routes that read a source. */
export const SOURCE_ERRORS: readonly MonitorErrorCode[] = [
  'source_not_configured',
  'source_invalid',
  'source_unavailable',
  'source_timeout',
];

/** A row whose values have the types of its query; the table holds rows of all queries. */
export function defineRoute<const Q extends Query>(row: RouteRow<Q>): Route {
  return row as unknown as Route;
}
