/** The longest id that a history takes. */
const MAX_LENGTH = 512;

/** Whether something is the id of a task or of a group. */
export function isId(id: string | null | undefined): id is string {
  return typeof id === 'string' && id !== '' && id.length <= MAX_LENGTH;
}
