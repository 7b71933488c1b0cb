/** Responses other than 200: not modified, redirects, problems. */
import { type MonitorErrorCode, STATUS_OF } from '../errors.ts';
import type { Json } from './schemas.ts';

type JsonObject = { readonly [key: string]: Json };

/** Headers that several responses share. */
export const HEADERS: JsonObject = {
  ETag: {
    description: 'Weak. Covers everything but `generated_at`, `checked_at`, `as_of` and `latency_ms`.',
    schema: { type: 'string', examples: ['W/"1f-9Qm0"'] },
  },
  Link: {
    description: 'The next page, as a relative reference with `rel="next"`. Absent on the last page.',
    schema: { type: 'string', examples: ['<?limit=100&cursor=eyJ2Ijox>; rel="next"'] },
  },
  CacheControl: {
    description: '`private, no-cache` if there is an `ETag`, otherwise `no-store`.',
    schema: { type: 'string', enum: ['private, no-cache', 'no-store'] },
  },
  RetryAfter: { description: 'Seconds to wait.', schema: { type: 'integer', minimum: 0 } },
  Allow: { description: 'The allowed methods.', schema: { type: 'string', const: 'GET, HEAD, OPTIONS' } },
  Location: {
    description: 'The canonical path, as a relative reference, with the query.',
    schema: { type: 'string', format: 'uri-reference' },
  },
  Challenge: {
    description: "The authentication challenge, if the host's `authorize` returns one.",
    schema: { type: 'string', examples: ['Basic realm="monitor"'] },
  },
};

/** A reference to one of {@link HEADERS}. */
export function header(name: keyof typeof HEADERS & string): Json {
  return { $ref: `#/components/headers/${name}` };
}

const EXTRA_HEADERS: Readonly<Record<number, JsonObject>> = {
  401: { 'WWW-Authenticate': header('Challenge') },
  405: { Allow: header('Allow') },
  503: { 'Retry-After': header('RetryAfter') },
};

const REASONS: Readonly<Record<MonitorErrorCode, string>> = {
  invalid_parameter: 'A query parameter or the task id is invalid; `errors` lists every fault.',
  unauthorized: "The host's `authorize` requires a login.",
  forbidden: "The host's `authorize` refused the request.",
  task_not_found: 'No source knows this id.',
  metrics_disabled: 'No exporter is configured.',
  method_not_allowed: 'The method is not GET, HEAD or OPTIONS.',
  cursor_expired: 'The cursor was issued by another version; read the list again from its start.',
  source_not_configured: 'The host has configured no source for this route.',
  source_invalid: 'The source returned data of the wrong type.',
  exporter_invalid:
    'The exporter answered with an error, a redirect, no metrics, a truncated or too large body.',
  source_unavailable: 'The source cannot be reached, and there is no older data.',
  exporter_unavailable: 'The exporter cannot be reached.',
  overloaded: 'Too many requests at once, or the monitor was closed.',
  source_timeout: 'The source did not answer in time.',
  exporter_timeout: 'The exporter did not answer in time.',
};

/** Groups error codes by their status. */
function byStatus(codes: readonly MonitorErrorCode[]): ReadonlyMap<number, readonly MonitorErrorCode[]> {
  const groups = new Map<number, MonitorErrorCode[]>();
  for (const code of new Set(codes)) {
    const group = groups.get(STATUS_OF[code]) ?? [];
    groups.set(STATUS_OF[code], [...group, code]);
  }
  return groups;
}

const nameOf = (codes: readonly MonitorErrorCode[]) => codes.join('_or_');

/** One problem response with all codes that it can carry. */
export function problemResponse(codes: readonly MonitorErrorCode[]): JsonObject {
  const status = STATUS_OF[codes[0] ?? 'overloaded'];
  return {
    description: codes.map((code) => `\`${code}\`: ${REASONS[code]}`).join('\n\n'),
    headers: { 'Cache-Control': header('CacheControl'), ...EXTRA_HEADERS[status] },
    content: {
      'application/problem+json': {
        schema: {
          allOf: [
            { $ref: '#/components/schemas/ProblemBody' },
            { properties: { status: { const: status }, code: { enum: codes } } },
          ],
        },
      },
    },
  };
}

/** References to the problem responses for the statuses of these codes. */
export function problemReferences(codes: readonly MonitorErrorCode[]): JsonObject {
  const groups = [...byStatus(codes)];
  return Object.fromEntries(
    groups.map(([status, own]) => [String(status), { $ref: `#/components/responses/${nameOf(own)}` }]),
  );
}

/** The problem responses that {@link problemReferences} refers to, for the codes of all routes. */
export function problemResponses(routes: readonly (readonly MonitorErrorCode[])[]): JsonObject {
  const groups = routes.flatMap((codes) => [...byStatus(codes).values()]);
  return Object.fromEntries(groups.map((codes) => [nameOf(codes), problemResponse(codes)]));
}

/** Responses that are the same on every route. */
export const SHARED_RESPONSES: JsonObject = {
  NotModified: {
    description: 'Nothing has changed since the `ETag` in `If-None-Match`.',
    headers: { ETag: header('ETag'), 'Cache-Control': header('CacheControl') },
  },
  OtherSlash: {
    description: 'The path has the other form of the trailing slash.',
    headers: { Location: header('Location') },
  },
};
