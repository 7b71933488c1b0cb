/** Generates the JSON Schemas of the bodies from the types in `wire.ts`. */
import { fileURLToPath } from 'node:url';
import { createGenerator } from 'ts-json-schema-generator';

/** Any JSON value, as part of an OpenAPI document. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

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
export function wireSchemas(): Readonly<Record<string, Json>> {
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
