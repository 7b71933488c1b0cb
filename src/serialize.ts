export { isoTime } from './serialize/moments.ts';
export { createSerializer, type Serializer, type SerializerOptions } from './serialize/serializer.ts';
export type { GraphParts, UpdateParts } from './serialize/workflow.ts';
