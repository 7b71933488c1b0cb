/** Longest id that a client can request, in characters. Ids in messages can have any length. */
const MAX_LENGTH = 512;

/** Whether a value can be the id of a task or the hostname of a worker. */
export function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_LENGTH;
}
