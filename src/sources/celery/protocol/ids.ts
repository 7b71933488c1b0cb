/** The longest id that a history accepts. */
const MAX_LENGTH = 512;

/** Whether a value can be the id of a task or of a group. */
export function isId(id: unknown): id is string {
  return typeof id === 'string' && id !== '' && id.length <= MAX_LENGTH;
}
