export { isoTime } from './serialize/moments.ts';
export { createSerializer, type Serializer } from './serialize/serializer.ts';
