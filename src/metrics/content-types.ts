/**
 * What an exporter may answer with: the formats that Prometheus scrapes
 * (https://prometheus.io/docs/instrumenting/content_negotiation/). HTML and the like would run in the
 * monitor's own origin.
 */
export const METRICS_TYPES: ReadonlySet<string> = new Set([
  'text/plain',
  'application/openmetrics-text',
  'application/vnd.google.protobuf',
]);

// RFC 9110, section 8.3.1: parameters of token or quoted-string. Bounded, and printable ASCII only.
const PARAMETERS =
  /^(?:[ \t]*;[ \t]*(?:[\w!#$%&'*+.^`|~-]+=(?:[\w!#$%&'*+.^`|~/-]+|"[ !#-[\]-~]*"))?)*[ \t]*$/;
const LONGEST = 256;
// Those that a header may have around its value; `trim` takes more, which would be sent on.
const BLANKS = /^[ \t]+|[ \t]+$/g;

/** Whether a `Content-Type` names one of the formats that Prometheus scrapes, in any version of it. */
export function isMetricsType(contentType: string | undefined): contentType is string {
  if (contentType === undefined || contentType.length > LONGEST) return false;
  const semicolon = contentType.indexOf(';');
  const end = semicolon === -1 ? contentType.length : semicolon;
  return (
    METRICS_TYPES.has(contentType.slice(0, end).replace(BLANKS, '').toLowerCase()) &&
    PARAMETERS.test(contentType.slice(end))
  );
}

/** Whether it is OpenMetrics text, which marks its own end. */
export function isOpenMetrics(contentType: string): boolean {
  return contentType.toLowerCase().startsWith('application/openmetrics-text');
}
