/** Checks responses against `src/openapi/openapi.json`, including closed schemas. */

import { isUtf8 } from 'node:buffer';
import { existsSync, readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { Answer } from './ask.ts';

interface Operation {
  readonly responses: Readonly<
    Record<string, { readonly $ref?: string; readonly content?: Readonly<Record<string, unknown>> }>
  >;
}

interface Document {
  readonly paths: Readonly<Record<string, { readonly get: Operation; readonly head?: Operation }>>;
}

const FILE = new URL('../../src/openapi/openapi.json', import.meta.url);

// Written by a build tool: a checkout in which it has not run yet has nothing to hold answers against.
const document: Document | null = existsSync(FILE) ? JSON.parse(readFileSync(FILE, 'utf8')) : null;

const ajv = new Ajv2020({
  strict: false,
  allErrors: true,
  formats: {
    'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
    'uri-reference': true,
    uri: true,
    int32: true,
    int64: true,
  },
});
if (document !== null) ajv.addSchema(document, 'openapi');

const ROUTES = Object.keys(document?.paths ?? {}).map((template) => ({
  template,
  pattern: new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]*')}$`),
}));

/** Throws when a response of one of our paths is not as documented. Other paths are the host's. */
export function checkResponse(
  method: string,
  path: string,
  { status, headers, bytes, text }: Pick<Answer, 'status' | 'headers' | 'bytes' | 'text'>,
): void {
  const route = ROUTES.find(({ pattern }) => pattern.test(path.replace(/[?#].*$/s, '')));
  // 431 and the like are Node's own answers, given before there is a request.
  if (document === null || route === undefined || status === 431) return;
  const where = `${method} ${path.slice(0, 200)} answered ${status}`;
  const claim = (holds: boolean, what: string): void => {
    if (!holds) throw new Error(`${where}: ${what}`);
  };
  claim(headers['x-content-type-options'] === 'nosniff', 'without X-Content-Type-Options: nosniff');
  if (method === 'OPTIONS' && status === 204) return;
  const responses = document.paths[route.template]?.get.responses ?? {};
  const known = responses[String(status)];
  claim(known !== undefined, `which openapi.json does not have for ${route.template}`);
  if (method === 'HEAD' || status === 304 || status === 308) {
    claim(bytes.length === 0, 'with a body');
    return;
  }
  const type = String(headers['content-type']).replace(/;.*$/s, '').trim();
  if (status >= 400 && !route.template.startsWith('/healthcheck')) {
    claim(type === 'application/problem+json', `with ${type}, not problem JSON`);
  }
  const content = resolved(known)?.content ?? {};
  if (!type.endsWith('json')) return;
  claim(type in content, `with ${type}, which openapi.json does not have`);
  claim(isUtf8(bytes), 'with bytes that are not UTF-8');
  const validate = validatorOf(route.template, status, type);
  claim(
    validate(JSON.parse(text)) === true,
    `with a body that openapi.json does not describe: ${ajv.errorsText(validate.errors)}\n${text.slice(0, 2_000)}`,
  );
}

/**
 * Throws when a value is not of a schema of the components.
 *
 * @param schema its name, such as `TaskBody`
 */
export function checkBody(schema: string, body: unknown): void {
  if (document === null) return;
  const validate = ajv.getSchema(`openapi#/components/schemas/${schema}`);
  if (validate === undefined) throw new Error(`openapi.json has no schema ${schema}.`);
  if (validate(body) !== true) {
    throw new Error(
      `No ${schema}: ${ajv.errorsText(validate.errors)}\n${JSON.stringify(body).slice(0, 2_000)}`,
    );
  }
}

type Responses = Operation['responses'][string];

/** Follows a reference to a shared response. */
function resolved(response: Responses | undefined): Responses | undefined {
  return response?.$ref === undefined ? response : (at(response.$ref) as Responses);
}

function at(pointer: string): unknown {
  return pointer
    .replace(/^#\//, '')
    .split('/')
    .reduce<unknown>((value, key) => (value as Record<string, unknown>)[unescapePointer(key)], document);
}

function unescapePointer(key: string): string {
  return decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~');
}

function escapePointer(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}

function validatorOf(template: string, status: number, type: string): ValidateFunction {
  const response = document?.paths[template]?.get.responses[String(status)];
  const base = response?.$ref ?? `#/paths/${escapePointer(template)}/get/responses/${status}`;
  const pointer = encodeURI(`${base}/content/${escapePointer(type)}/schema`);
  const validate = ajv.getSchema(`openapi${pointer}`);
  if (validate === undefined) throw new Error(`openapi.json has no schema at ${pointer}`);
  return validate;
}
