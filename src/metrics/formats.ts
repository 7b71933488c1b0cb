/** The formats of metrics: which a client prefers, and which an exporter may answer with. */

/** A format that Prometheus scrapes (https://prometheus.io/docs/instrumenting/content_negotiation/). */
interface Format {
  readonly type: string;
  /** `null` for a format without versions. */
  readonly version: string | null;
  /** Whether clients can request names with any characters (`escaping=allow-utf-8`). */
  readonly canEscape: boolean;
}

const TEXT = 'text/plain';
const OPEN_METRICS = 'application/openmetrics-text';
const PROTOBUF = 'application/vnd.google.protobuf';

/** The formats that Prometheus requests. The first one of a type is used for a request without a version. */
const FORMATS: readonly Format[] = [
  { type: PROTOBUF, version: null, canEscape: true },
  { type: OPEN_METRICS, version: '1.0.0', canEscape: true },
  { type: OPEN_METRICS, version: '0.0.1', canEscape: false },
  { type: TEXT, version: '0.0.4', canEscape: false },
  { type: TEXT, version: '1.0.0', canEscape: true },
];

const ANYTHING = '*/*;q=0.1';
// Prometheus sends six items.
const MOST_ITEMS = 32;

/**
 * Reduces an `Accept` to the format that the client prefers, so that clients which write it differently share a
 * scrape: there are eleven possible results. OpenMetrics is added after Protobuf if the client accepts it, because
 * most exporters do not support Protobuf.
 *
 * @returns undefined if it prefers none of these formats: the exporter chooses
 */
export function preferredFormat(accept: string | undefined): string | undefined {
  const { best, takesOpenMetrics } = preferenceOf(accept, FORMATS);
  if (best === null) return undefined;
  const { format, escapes } = best;
  const version =
    format.version === null
      ? 'proto=io.prometheus.client.MetricFamily;encoding=delimited'
      : `version=${format.version}`;
  const escaping = escapes && format.canEscape ? ';escaping=allow-utf-8' : '';
  const asked = [`${format.type};${version}${escaping}`];
  if (format.version === null && takesOpenMetrics) asked.push(`${OPEN_METRICS};version=1.0.0;q=0.5`);
  return [...asked, ANYTHING].join(',');
}

/** The formats that prom-client writes. */
const OWN_FORMATS = FORMATS.filter(
  ({ type, version }) => type === TEXT || (type === OPEN_METRICS && version === '1.0.0'),
);

/** Whether a client prefers OpenMetrics to Prometheus text. */
export function prefersOpenMetrics(accept: string | undefined): boolean {
  return preferenceOf(accept, OWN_FORMATS).best?.format.type === OPEN_METRICS;
}

/** The format that a client prefers, and whether it accepts OpenMetrics. @param formats the available formats */
function preferenceOf(accept: string | undefined, formats: readonly Format[]) {
  let best: { readonly format: Format; readonly escapes: boolean; readonly weight: number } | null = null;
  let takesOpenMetrics = false;
  for (const item of (accept ?? '').split(',', MOST_ITEMS)) {
    const [type = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase());
    const weight = Number(parameterOf(parameters, 'q') ?? 1);
    const version = parameterOf(parameters, 'version');
    const format = formats.find(
      (one) => one.type === type && (one.version === null || version === null || one.version === version),
    );
    if (format === undefined || !(weight > 0)) continue;
    takesOpenMetrics ||= type === OPEN_METRICS;
    if (best !== null && weight <= best.weight) continue;
    best = { format, weight, escapes: parameterOf(parameters, 'escaping') === 'allow-utf-8' };
  }
  return { best, takesOpenMetrics };
}

function parameterOf(parameters: readonly string[], name: string): string | null {
  const found = parameters.find((parameter) => parameter.startsWith(`${name}=`));
  return found?.slice(name.length + 1).replace(/^"(.*)"$/, '$1') ?? null;
}

/** What an exporter may answer with. Any other type, such as HTML, could run in the origin of the monitor. */
export const METRICS_TYPES: ReadonlySet<string> = new Set([TEXT, OPEN_METRICS, PROTOBUF]);

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
  return contentType.toLowerCase().startsWith(OPEN_METRICS);
}
