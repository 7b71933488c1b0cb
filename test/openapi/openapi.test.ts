import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';

const file = new URL('../../src/openapi/openapi.json', import.meta.url);
const text = readFileSync(file, 'utf8');
const document = JSON.parse(text) as {
  readonly paths: Readonly<Record<string, { readonly get: Operation }>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
};

interface Operation {
  readonly operationId: string;
  readonly parameters: readonly {
    readonly name: string;
    readonly in: string;
    readonly description?: string;
  }[];
  readonly responses: Readonly<Record<string, unknown>>;
}

interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly additionalProperties?: unknown;
  readonly description?: string;
}

function lookUp(pointer: string): unknown {
  return pointer
    .slice(2)
    .split('/')
    .reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], document);
}

describe('openapi.json', () => {
  it('explains each parameter of each route', () => {
    expect(Object.keys(document.paths).length).toBeGreaterThan(0);
    const unexplained = Object.entries(document.paths).flatMap(([path, { get }]) =>
      get.parameters.filter(({ description }) => !description).map(({ name }) => `${path} ${name}`),
    );
    expect(unexplained).toEqual([]);
  });

  it('leads every reference somewhere', () => {
    const references = [...text.matchAll(/"\$ref": "([^"]+)"/g)].map((match) => match[1] ?? '');
    expect(references.length).toBeGreaterThan(50);
    expect(references.filter((reference) => lookUp(reference) === undefined)).toEqual([]);
  });

  it('uses every schema that it has', () => {
    const unused = Object.keys(document.components.schemas).filter(
      (name) => !text.includes(`"#/components/schemas/${name}"`),
    );
    expect(unused).toEqual([]);
  });

  it('has schemas that compile, closed wherever fields are named, each with a description', () => {
    const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, formats: { 'date-time': true } });
    ajv.addVocabulary(Object.keys(document));
    ajv.addSchema(document, 'openapi');
    for (const [name, schema] of Object.entries(document.components.schemas)) {
      expect(() => ajv.getSchema(`openapi#/components/schemas/${name}`)).not.toThrow();
      if (schema.properties) expect(schema.additionalProperties, name).toBe(false);
      expect(schema.description, name).toBeTruthy();
    }
  });

  it('lets null be null where it is documented', () => {
    const ajv = new Ajv2020({ strict: false, formats: { 'date-time': true } });
    ajv.addSchema(document, 'openapi');
    const validate = ajv.getSchema('openapi#/components/schemas/QueueBody');
    const queue = { name: 'celery', reserved: null, consumers: 3, oldest_due_seconds: null, as_of: null };
    const row = {
      ...queue,
      engine_states: null,
      paused: null,
      blocked_by: null,
      drain: null,
      source: 'celery',
    };
    expect(validate?.({ ...row, waiting: null })).toBe(true);
    expect(validate?.({ ...row, waiting: 1.5 })).toBe(false);
    expect(validate?.(row)).toBe(false);
    expect(validate?.({ ...row, waiting: 1, depth: 4 })).toBe(false);
  });

  it('tells of every route how it refuses', () => {
    for (const { get } of Object.values(document.paths)) {
      expect(Object.keys(get.responses)).toEqual(
        expect.arrayContaining(['200', '308', '400', '401', '403', '405', '503']),
      );
    }
  });
});
