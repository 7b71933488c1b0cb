/**
 * The formats that Prometheus scrapes (https://prometheus.io/docs/instrumenting/content_negotiation/). No other type
 * is accepted from an exporter: HTML, for example, would run in the origin of the monitor.
 */
export const METRICS_TYPES: ReadonlySet<string> = new Set([
  'text/plain',
  'application/openmetrics-text',
  'application/vnd.google.protobuf',
]);

// RFC 9110, section 8.3.1: parameters are tokens or quoted strings. Bounded, and limited to printable ASCII.
const PARAMETERS =
  /^(?:[ \t]*;[ \t]*(?:[\w!#$%&'*+.^`|~-]+=(?:[\w!#$%&'*+.^`|~/-]+|"[ !#-[\]-~]*"))?)*[ \t]*$/;
const LONGEST = 256;
// The blanks that a header may have around its value. `trim` would remove more, and the check would then
// accept a value that must not be sent.
const BLANKS = /^[ \t]+|[ \t]+$/g;

/** Whether a `Content-Type` names one of the formats that Prometheus scrapes, in any version. */
export function isMetricsType(contentType: string | undefined): contentType is string {
  if (contentType === undefined || contentType.length > LONGEST) return false;
  const semicolon = contentType.indexOf(';');
  const end = semicolon === -1 ? contentType.length : semicolon;
  return (
    METRICS_TYPES.has(contentType.slice(0, end).replace(BLANKS, '').toLowerCase()) &&
    PARAMETERS.test(contentType.slice(end))
  );
}

/** Whether it is OpenMetrics text, which ends with `# EOF`. */
export function isOpenMetrics(contentType: string): boolean {
  return contentType.toLowerCase().startsWith('application/openmetrics-text');
}
