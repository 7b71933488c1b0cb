/** Converts settings to plain JSON without secrets and of bounded size. */
import { textOf } from '../text.ts';
import { isRecord } from '../values.ts';

// Settings are for people, who do not read more than this.
const MOST_CHARACTERS = 65_536;

/**
 * `null` when the value is not a plain object.
 *
 * @param show masks the secrets in a string
 * @param isSecretKey whether to mask the value of a member
 */
export function plainRecord(
  value: unknown,
  show: (text: string) => string,
  isSecretKey: (key: string) => boolean,
): Record<string, unknown> | null {
  if (!isRecord(value)) return null;
  const text = textOf(value, MOST_CHARACTERS, isSecretKey);
  // `textOf` writes dates, maps and unreadable values as strings or arrays, which are not settings.
  return text.startsWith('{') ? (masked(JSON.parse(text), show) as Record<string, unknown>) : null;
}

/** The recursion ends because parsed JSON is a tree, and `textOf` bounds its depth. */
function masked(value: unknown, show: (text: string) => string): unknown {
  if (typeof value === 'string') return show(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => masked(item, show));
  // Mask the member names too: some settings are keyed by URL.
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [show(key), masked(item, show)]));
}
