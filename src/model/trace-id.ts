/** The header of W3C Trace Context that ties a message to the trace in which it was sent (w3.org/TR/trace-context). */

/** Version, trace id, span id and flags. Later versions may have more behind a hyphen. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/s;
const TRACE_ID = /^(?!0{32})[0-9a-f]{32}$/;
const NO_SPAN = '0'.repeat(16);
const LONGEST = 512;

/** Whether a value is a trace id: 32 lowercase hexadecimal digits that are not all 0. */
export function isTraceId(value: unknown): value is string {
  return typeof value === 'string' && TRACE_ID.test(value);
}

/** @returns the trace id in the value of `traceparent`; `null` if the value is not valid */
export function traceIdOf(traceparent: unknown): string | null {
  if (typeof traceparent !== 'string' || traceparent.length > LONGEST) return null;
  const match = TRACEPARENT.exec(traceparent);
  if (match === null) return null;
  const [, version, traceId, spanId, rest] = match;
  if (spanId === NO_SPAN || (version === '00' && rest !== undefined)) return null;
  return isTraceId(traceId) ? traceId : null;
}
