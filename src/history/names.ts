/** The longest id that a client can ask for, in characters; what others write may have any length. */
const MAX_LENGTH = 512;

/** Whether it can be the id of a task or the name of a worker. */
export function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_LENGTH;
}
