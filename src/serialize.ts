export { isoTime } from './serialize/moments.ts';
export {
  createSerializer,
  type GraphParts,
  type Serializer,
  type SerializerOptions,
  type UpdateParts,
} from './serialize/serializer.ts';
