import { isMonitorError, type MonitorErrorCode } from '../errors.ts';

/** Codes that a source may choose. The others are about authorization or the exporter. */
const OF_SOURCES: ReadonlySet<MonitorErrorCode> = new Set<MonitorErrorCode>([
  'invalid_parameter',
  'task_not_found',
  'source_not_configured',
  'source_invalid',
  'source_unavailable',
  'source_timeout',
  'overloaded',
]);

/** The error code of the response when a source has failed. @param error any thrown value */
export function codeOf(error: unknown): MonitorErrorCode {
  return isMonitorError(error) && OF_SOURCES.has(error.code) ? error.code : 'source_unavailable';
}
