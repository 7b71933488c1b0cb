/**
 * Every `code` that an error body can carry. Codes are stable: clients may branch on them.
 * The status each one answers with is in {@link STATUS_OF}.
 */
export type MonitorErrorCode =
  | 'invalid_parameter'
  | 'unauthorized'
  | 'forbidden'
  | 'task_not_found'
  | 'metrics_disabled'
  | 'method_not_allowed'
  | 'source_not_configured'
  | 'source_invalid'
  | 'exporter_invalid'
  | 'source_unavailable'
  | 'exporter_unavailable'
  | 'overloaded'
  | 'source_timeout'
  | 'exporter_timeout';

/** HTTP status per code. */
export const STATUS_OF: Readonly<Record<MonitorErrorCode, number>> = Object.freeze({
  invalid_parameter: 400,
  unauthorized: 401,
  forbidden: 403,
  task_not_found: 404,
  metrics_disabled: 404,
  method_not_allowed: 405,
  source_not_configured: 501,
  source_invalid: 502,
  exporter_invalid: 502,
  source_unavailable: 503,
  exporter_unavailable: 503,
  overloaded: 503,
  source_timeout: 504,
  exporter_timeout: 504,
});

/**
 * Marks our errors across module copies: each CommonJS entry of the package bundles its own copy of
 * this file, so `instanceof` fails between `express-task-monitor` and `express-task-monitor/celery`.
 */
const BRAND = Symbol.for('express-task-monitor.error');

/** One fault of a query parameter. */
export interface ParameterFault {
  /** Name of the parameter as the client wrote it. */
  readonly parameter: string;
  /** What to write instead, in a sentence of ours. */
  readonly detail: string;
}

/**
 * A failure with a code that the API knows. A source may throw one to choose the code that is answered with;
 * anything else that a source throws is answered as `source_unavailable`. Clients read the code's own
 * sentence either way: what a source says reaches the host's `onError` alone.
 */
export class MonitorError extends Error {
  readonly code: MonitorErrorCode;
  /** Every query fault, for `invalid_parameter`. */
  readonly faults: readonly ParameterFault[];

  /**
   * @param code the stable code, which decides the status
   * @param detail what happened, for `onError`. Only errors of the router itself show it to clients
   * @param faults query faults, for `invalid_parameter`
   */
  constructor(code: MonitorErrorCode, detail?: string, faults: readonly ParameterFault[] = []) {
    super(detail ?? DETAIL_OF[code]);
    this.name = 'MonitorError';
    this.code = code;
    this.faults = faults;
    Object.defineProperty(this, BRAND, { value: true });
  }
}

/** The sentence a code answers with when no better one is known. */
export const DETAIL_OF: Readonly<Record<MonitorErrorCode, string>> = Object.freeze({
  invalid_parameter: 'The request has a parameter that cannot be read.',
  unauthorized: 'Sign in to see this.',
  forbidden: 'You may not see this.',
  task_not_found: 'No task with this id is known.',
  metrics_disabled: 'No metrics exporter is configured.',
  method_not_allowed: 'Only GET, HEAD and OPTIONS are answered here.',
  source_not_configured: 'This monitor has no source for this data.',
  source_invalid: 'The source returned data that cannot be read.',
  exporter_invalid: 'The metrics exporter did not answer with metrics.',
  source_unavailable: 'The source cannot be reached.',
  exporter_unavailable: 'The metrics exporter cannot be reached.',
  overloaded: 'Too many requests at once. Try again in a moment.',
  source_timeout: 'The source did not answer within the time limit.',
  exporter_timeout: 'The metrics exporter did not answer within the time limit.',
});

/** Whether a thrown value is a {@link MonitorError}, of this or another copy of the package. */
export function isMonitorError(error: unknown): error is MonitorError {
  // A hostile value (a Proxy, a throwing getter) must not break the place that handles errors.
  try {
    return (
      typeof error === 'object' &&
      error !== null &&
      (error as { [BRAND]?: unknown })[BRAND] === true &&
      Object.hasOwn(STATUS_OF, (error as MonitorError).code)
    );
  } catch {
    return false;
  }
}
