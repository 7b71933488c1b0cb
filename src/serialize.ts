export { createJsonList, type JsonList, toJson } from './serialize/json-list.ts';
export { isoTime } from './serialize/moments.ts';
export { createSerializer, type Serializer } from './serialize/serializer.ts';
