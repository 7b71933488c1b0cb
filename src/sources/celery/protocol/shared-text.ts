/** Maximum number of texts, and the longest one, in characters. */
const MAX_TEXTS = 1_000;
const MAX_LENGTH = 256;

const texts = new Map<string, string>();

/**
 * Nearly every event repeats the name of a task, a worker or a queue, each time as a separate text. With one text for
 * all of them, look-ups by it are faster, and the copies are dropped at once.
 *
 * @returns the same text for equal texts
 */
export function sharedText(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const known = texts.get(text);
  if (known !== undefined) return known;
  if (text.length > MAX_LENGTH) return text;
  if (texts.size >= MAX_TEXTS) texts.clear();
  texts.set(text, text);
  return text;
}
