/**
 * Every `code` that an error body can carry. Codes are stable: clients may branch on them. {@link STATUS_OF}
 * maps each code to its HTTP status.
 */
export type MonitorErrorCode =
  | 'invalid_parameter'
  | 'unauthorized'
  | 'forbidden'
  | 'task_not_found'
  | 'metrics_disabled'
  | 'method_not_allowed'
  | 'cursor_expired'
  | 'source_not_configured'
  | 'source_invalid'
  | 'exporter_invalid'
  | 'source_unavailable'
  | 'exporter_unavailable'
  | 'overloaded'
  | 'source_timeout'
  | 'exporter_timeout';

/** HTTP status of each code. */
export const STATUS_OF: Readonly<Record<MonitorErrorCode, number>> = Object.freeze({
  invalid_parameter: 400,
  unauthorized: 401,
  forbidden: 403,
  task_not_found: 404,
  metrics_disabled: 404,
  method_not_allowed: 405,
  cursor_expired: 410,
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
 * Marks these errors across copies of the module: an app may import `express-task-monitor` and require
 * `express-task-monitor/celery`, each with its own copy of this file, so `instanceof` fails between them.
 */
const BRAND = Symbol.for('express-task-monitor.error');

/** One invalid query parameter. */
export interface ParameterFault {
  /** Name of the parameter as the client wrote it. */
  readonly parameter: string;
  /** A sentence that says what to write instead. */
  readonly detail: string;
}

/**
 * A failure with a code of the API. A source may throw one to choose the code of the answer; anything else
 * that a source throws is answered as `source_unavailable`. In both cases clients read the standard sentence
 * of the code: a source's own message reaches the host's `onError` only.
 */
export class MonitorError extends Error {
  readonly code: MonitorErrorCode;
  /** Every invalid query parameter, for `invalid_parameter`. */
  readonly faults: readonly ParameterFault[];

  /**
   * @param code stable code, which determines the status
   * @param detail message for `onError`; clients see it only for errors of the router itself. Default: the
   *   sentence in {@link DETAIL_OF}
   * @param faults invalid query parameters, for `invalid_parameter`. Default: none
   */
  constructor(code: MonitorErrorCode, detail?: string, faults: readonly ParameterFault[] = []) {
    super(detail ?? DETAIL_OF[code]);
    this.name = 'MonitorError';
    this.code = code;
    this.faults = faults;
    Object.defineProperty(this, BRAND, { value: true });
  }
}

/** Standard sentence of each code, used when no specific one is known. */
export const DETAIL_OF: Readonly<Record<MonitorErrorCode, string>> = Object.freeze({
  invalid_parameter: 'The request has an invalid parameter.',
  unauthorized: 'Sign in to see this.',
  forbidden: 'You do not have access to this.',
  task_not_found: 'No task with this id is known.',
  metrics_disabled: 'No metrics exporter is configured.',
  method_not_allowed: 'Only GET, HEAD and OPTIONS are allowed.',
  cursor_expired: 'This cursor was issued by another version. Read the list again from its start.',
  source_not_configured: 'This monitor has no source for this data.',
  source_invalid: 'The source returned invalid data.',
  exporter_invalid: 'The metrics exporter did not answer with metrics.',
  source_unavailable: 'The source cannot be reached.',
  exporter_unavailable: 'The metrics exporter cannot be reached.',
  overloaded: 'Too many requests at once. Try again in a moment.',
  source_timeout: 'The source did not answer within the time limit.',
  exporter_timeout: 'The metrics exporter did not answer within the time limit.',
});

/** Whether a thrown value is a {@link MonitorError} from this or another copy of the package. */
export function isMonitorError(error: unknown): error is MonitorError {
  // A hostile value (a Proxy, a throwing getter) must not break error handling.
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
