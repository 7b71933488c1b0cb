export { createJsonList, type JsonList, toJson } from './serialize/json-list.ts';
export { createSerializer, type Serializer } from './serialize/serializer.ts';
export { isoTime } from './serialize/shown-values.ts';
