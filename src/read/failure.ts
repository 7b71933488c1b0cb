import { isMonitorError, type MonitorErrorCode } from '../errors.ts';

/** What a source may choose to be answered with. The other codes speak of the request or of the exporter. */
const OF_SOURCES: ReadonlySet<MonitorErrorCode> = new Set<MonitorErrorCode>([
  'invalid_parameter',
  'task_not_found',
  'source_not_configured',
  'source_invalid',
  'source_unavailable',
  'source_timeout',
  'overloaded',
]);

/** The code that a failure of a source is answered with. What was thrown may be anything. */
export function codeOf(error: unknown): MonitorErrorCode {
  return isMonitorError(error) && OF_SOURCES.has(error.code) ? error.code : 'source_unavailable';
}
