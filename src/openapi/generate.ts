/**
 * Writes `openapi.json` from the wire types and the route table. With `--check` it only reports whether the committed
 * file is up to date. A build tool, not part of the library.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createGenerator } from 'ts-json-schema-generator';
import { type MonitorErrorCode, STATUS_OF } from '../errors.ts';
import { MOST_REPEATS, type Parameter } from '../http/parameter.ts';
import { COMMON_ERRORS, type Route } from '../http/route.ts';
import { METRICS_TYPES } from '../metrics/formats.ts';
import { ROUTES } from '../routes/index.ts';

/** Any JSON value, as part of an OpenAPI document. */
type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

const WIRE = fileURLToPath(new URL('../wire.ts', import.meta.url));
const TSCONFIG = fileURLToPath(new URL('../../tsconfig.json', import.meta.url));

/** OpenAPI uses another path for schemas than JSON Schema, and its tools do not support TSDoc links. */
function adapt(text: string): string {
  return text
    .replaceAll('"#/definitions/', '"#/components/schemas/')
    .replaceAll(/ *\{ *@link +([^ }]+) *\} *(?=[^\w(])/g, ' $1')
    .replaceAll(/ *\{ *@link +([^ }]+) *\} */g, ' $1 ');
}

/**
 * Every exported body and the types it uses, by name. The schemas allow no other fields, so that tests find
 * undocumented ones.
 */
function wireSchemas(): Readonly<Record<string, Json>> {
  const generator = createGenerator({
    path: WIRE,
    tsconfig: TSCONFIG,
    type: '*',
    jsDoc: 'extended',
    additionalProperties: false,
    sortProps: false,
    topRef: true,
    // `npm run check` already checks the types.
    skipTypeCheck: true,
  });
  const { definitions } = JSON.parse(adapt(JSON.stringify(generator.createSchema('*')))) as {
    definitions: Record<string, Json>;
  };
  return Object.fromEntries(Object.entries(definitions).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Headers that several responses share. */
const HEADERS: JsonObject = {
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
function header(name: keyof typeof HEADERS & string): Json {
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
function problemResponse(codes: readonly MonitorErrorCode[]): JsonObject {
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
function problemReferences(codes: readonly MonitorErrorCode[]): JsonObject {
  const groups = [...byStatus(codes)];
  return Object.fromEntries(
    groups.map(([status, own]) => [String(status), { $ref: `#/components/responses/${nameOf(own)}` }]),
  );
}

/** The problem responses that {@link problemReferences} refers to, for the codes of all routes. */
function problemResponses(routes: readonly (readonly MonitorErrorCode[])[]): JsonObject {
  const groups = routes.flatMap((codes) => [...byStatus(codes).values()]);
  return Object.fromEntries(groups.map((codes) => [nameOf(codes), problemResponse(codes)]));
}

/** Responses that are the same on every route. */
const SHARED_RESPONSES: JsonObject = {
  NotModified: {
    description: 'Nothing has changed since the `ETag` in `If-None-Match`.',
    headers: { ETag: header('ETag'), 'Cache-Control': header('CacheControl') },
  },
  OtherSlash: {
    description: 'The path has the other form of the trailing slash.',
    headers: { Location: header('Location') },
  },
};

const FILE = fileURLToPath(new URL('openapi.json', import.meta.url));
const PACKAGE = fileURLToPath(new URL('../../package.json', import.meta.url));

/** The whole document as text. */
function openapi(): string {
  const { version, license } = JSON.parse(readFileSync(PACKAGE, 'utf8')) as {
    version: string;
    license: string;
  };
  const document = {
    openapi: '3.1.0',
    info: {
      title: 'express-task-monitor',
      version,
      license: { name: license, identifier: license },
      description: [
        'Read-only. HEAD is answered like GET, without the body.',
        'Every documented field is always present; `null` means "unknown", `[]` means "none".',
        'Times are ISO 8601 in UTC with milliseconds.',
        'Errors are `application/problem+json` with a stable `code`.',
      ].join('\n\n'),
    },
    servers: [{ url: '/monitor', description: 'The path at which the host mounts the router.' }],
    // The host decides whether and how clients authenticate.
    security: [],
    paths: Object.fromEntries(ROUTES.map((row) => [row.path, pathOf(row)])),
    components: {
      schemas: wireSchemas(),
      responses: { ...SHARED_RESPONSES, ...problemResponses(ROUTES.map(codesOf)) },
      headers: HEADERS,
    },
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

type JsonObject = { readonly [key: string]: Json };

const TASK_ID: JsonObject = {
  name: 'task_id',
  in: 'path',
  required: true,
  description: 'Any text of 1 to 512 characters; a slash in it is `%2F`, a tab is `%09`.',
  schema: { type: 'string', minLength: 1, maxLength: 512 },
};

const IF_NONE_MATCH: JsonObject = {
  name: 'If-None-Match',
  in: 'header',
  description: 'The `ETag` of an earlier answer: 304 if it is still current.',
  schema: { type: 'string' },
};

const LAST_EVENT_ID: JsonObject = {
  name: 'Last-Event-ID',
  in: 'header',
  description:
    'For a stream: the `id` of the last message, after which it continues. Takes precedence over `since`.',
  schema: { type: 'string' },
};

const STREAM: JsonObject = {
  schema: {
    type: 'string',
    description:
      'Server-Sent Events, if the `Accept` header names this type. The `data` of each message is a body of this route, as a request with the previous `id` as `since` would return it; its `id` is the cursor of that body.',
  },
};

const ANY = 'any of the values matches.';
const ALL = 'all of the values have to match.';

function parameterOf([name, parameter]: [string, Parameter<unknown>]): JsonObject {
  const { description, schema, repeatable, needsAll = false } = parameter;
  const one = { ...schema } as JsonObject;
  return {
    name,
    in: 'query',
    description: repeatable ? `${description} Repeatable: ${needsAll ? ALL : ANY}` : description,
    schema: repeatable ? { type: 'array', items: one, maxItems: MOST_REPEATS } : one,
    ...(repeatable ? { style: 'form', explode: true } : {}),
  };
}

function contentOf({ body }: Route): JsonObject {
  if (body !== null) return { 'application/json': { schema: { $ref: `#/components/schemas/${body}` } } };
  return Object.fromEntries([...METRICS_TYPES].map((type) => [type, { schema: { type: 'string' } }]));
}

function okOf(row: Route): JsonObject {
  return {
    description: row.summary,
    headers: {
      'Cache-Control': header('CacheControl'),
      ...(row.cached ? { ETag: header('ETag') } : {}),
      ...(row.query.cursor ? { Link: header('Link') } : {}),
    },
    content: { ...contentOf(row), ...(row.streams ? { 'text/event-stream': STREAM } : {}) },
  };
}

/** Every error code that a route can answer with. */
function codesOf(row: Route): readonly MonitorErrorCode[] {
  return [...COMMON_ERRORS, ...row.errors];
}

/** Response for a problem status that may also carry the route's own body, such as 503 of `/healthcheck`. */
function withBody(status: number, row: Route): JsonObject {
  const problem = problemResponse(codesOf(row).filter((code) => STATUS_OF[code] === status));
  const { content, description, ...rest } = problem;
  return {
    ...rest,
    description: `The same body as for 200, when a check has failed.\n\n${description}`,
    content: { ...contentOf(row), ...(content as JsonObject) },
  };
}

function responsesOf(row: Route): JsonObject {
  const both = (row.alsoWith ?? []).map((status) => [status, withBody(status, row)] as const);
  return {
    200: okOf(row),
    ...(row.cached ? { 304: { $ref: '#/components/responses/NotModified' } } : {}),
    308: { $ref: '#/components/responses/OtherSlash' },
    ...problemReferences(codesOf(row)),
    ...Object.fromEntries(both),
  };
}

function pathOf(row: Route): JsonObject {
  return {
    ...(row.path.includes('{task_id}') ? { parameters: [TASK_ID] } : {}),
    get: {
      operationId: row.name,
      summary: row.summary,
      parameters: [
        ...Object.entries(row.query).map(parameterOf),
        ...(row.cached ? [IF_NONE_MATCH] : []),
        ...(row.streams ? [LAST_EVENT_ID] : []),
      ],
      responses: responsesOf(row),
    },
    options: {
      operationId: `${row.name}_options`,
      summary: 'The allowed methods.',
      responses: { 204: { description: 'No body.', headers: { Allow: header('Allow') } } },
    },
  };
}

const text = openapi();
if (!process.argv.includes('--check')) {
  writeFileSync(FILE, text);
} else if (readFileSync(FILE, 'utf8') !== text) {
  console.error('src/openapi/openapi.json is stale. Write it anew: npm run openapi');
  process.exitCode = 1;
}
