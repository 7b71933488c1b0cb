/**
 * Writes `openapi.json` from the wire types and the route table. With `--check` it only reports whether the
 * committed file is up to date. A build tool, not part of the library.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type MonitorErrorCode, STATUS_OF } from '../errors.ts';
import { MOST_REPEATS, type Parameter } from '../http/parameter.ts';
import { COMMON_ERRORS, type Route } from '../http/route.ts';
import { METRICS_TYPES } from '../metrics/formats.ts';
import { ROUTES } from '../routes/index.ts';
import {
  HEADERS,
  header,
  problemReferences,
  problemResponse,
  problemResponses,
  SHARED_RESPONSES,
} from './responses.ts';
import { type Json, wireSchemas } from './schemas.ts';

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
    paths: pathsOf(ROUTES),
    components: { schemas: wireSchemas(), responses: responsesFor(ROUTES), headers: HEADERS },
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

function committed(): string | null {
  try {
    return readFileSync(FILE, 'utf8');
  } catch {
    return null;
  }
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

/** All paths of the API, in the order of the table. */
function pathsOf(rows: readonly Route[]): JsonObject {
  return Object.fromEntries(rows.map((row) => [row.path, pathOf(row)]));
}

/** The shared responses that the paths refer to. */
function responsesFor(rows: readonly Route[]): JsonObject {
  return { ...SHARED_RESPONSES, ...problemResponses(rows.map(codesOf)) };
}

const text = openapi();
if (!process.argv.includes('--check')) {
  writeFileSync(FILE, text);
} else if (committed() !== text) {
  console.error('src/openapi/openapi.json is stale. Write it anew: npm run openapi');
  process.exitCode = 1;
}
