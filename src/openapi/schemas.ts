/** The JSON Schemas of the API's bodies, made from the types in `wire.ts`. */
import { fileURLToPath } from 'node:url';
import { createGenerator } from 'ts-json-schema-generator';

/** Part of an OpenAPI document: what JSON can hold. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

const WIRE = fileURLToPath(new URL('../wire.ts', import.meta.url));
const TSCONFIG = fileURLToPath(new URL('../../tsconfig.json', import.meta.url));

/** OpenAPI keeps its schemas elsewhere than JSON Schema does, and its readers know no TSDoc links. */
function adapt(text: string): string {
  return text
    .replaceAll('"#/definitions/', '"#/components/schemas/')
    .replaceAll(/ *\{ *@link +([^ }]+) *\} *(?=[^\w(])/g, ' $1')
    .replaceAll(/ *\{ *@link +([^ }]+) *\} */g, ' $1 ');
}

/** Every exported body and what they consist of, by name; bodies are closed, so a field too many is seen. */
export function wireSchemas(): Readonly<Record<string, Json>> {
  const generator = createGenerator({
    path: WIRE,
    tsconfig: TSCONFIG,
    type: '*',
    jsDoc: 'extended',
    additionalProperties: false,
    sortProps: false,
    topRef: true,
    // Types are checked by `npm run check`; once is enough.
    skipTypeCheck: true,
  });
  const { definitions } = JSON.parse(adapt(JSON.stringify(generator.createSchema('*')))) as {
    definitions: Record<string, Json>;
  };
  return Object.fromEntries(Object.entries(definitions).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
