/** The rows of the route table. */

import type { MonitorErrorCode } from '../errors.ts';
import type { RouteName } from '../options.ts';
import type { Respond } from './exchange.ts';
import type { Monitor } from './monitor.ts';
import type { Query, ValuesOf } from './parameter.ts';

/** The parsed path and query of a request. */
export interface Asked<Values> {
  readonly values: Values;
  /** Names of invalid parameters; their values are those of an absent parameter. */
  readonly faulty: ReadonlySet<string>;
  /** Decoded; empty for routes without a task id. */
  readonly taskId: string;
  /** The decoded query, ignored parameters included. */
  readonly pairs: readonly [name: string, value: string][];
}

/** Reports an invalid parameter. @param detail a sentence that says what to write instead */
export type Fault = (parameter: string, detail: string) => void;

/**
 * Prepares the answers to one URL; called once per URL. Also called for URLs with invalid parameters, to report
 * the other faults.
 */
export type Prepare<Values> = (asked: Asked<Values>, fault: Fault) => Respond;

/** One row, as {@link defineRoute} takes it. */
export interface RouteRow<Q extends Query> {
  readonly name: RouteName;
  /** The canonical path; `{task_id}` is its only parameter. */
  readonly path: string;
  /** For the API's documentation. */
  readonly summary: string;
  readonly query: Q;
  /** Type of the 200 body in `wire.ts`; `null` when it is not JSON. */
  readonly body: string | null;
  /** Other statuses with the same body. */
  readonly alsoWith?: readonly number[];
  /** Problems of this route, in addition to {@link COMMON_ERRORS}. */
  readonly errors: readonly MonitorErrorCode[];
  /** Whether answers have an `ETag`, so that a client can get a 304. */
  readonly cached: boolean;
  /** Whether a client that accepts `text/event-stream` gets a stream of changes. Default: no. */
  readonly streams?: boolean;
  /** Names of additional parameters that the host has configured. */
  passes?(monitor: Monitor): readonly string[];
  /** Called once per router. */
  open(monitor: Monitor): Prepare<ValuesOf<Q>>;
}

/** One of the eleven routes. */
export type Route = RouteRow<Query>;

/** Problems of every route. */
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

/** Checks a row against the types of its query, and returns it as a row of the common table. */
export function defineRoute<const Q extends Query>(row: RouteRow<Q>): Route {
  return row as unknown as Route;
}
