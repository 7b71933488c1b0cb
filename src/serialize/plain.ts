/** Converts settings to plain JSON without secrets and of bounded size. */
import type { Redactor } from '../redact.ts';
import { textOf } from '../text.ts';
import { isRecord } from '../values.ts';
import { wellFormed } from './scalars.ts';

// Settings are for people, who do not read more than this.
const MOST_CHARACTERS = 65_536;

/** `null` when the value is not a plain object. */
export function plainRecord(value: unknown, redactor: Redactor): Record<string, unknown> | null {
  if (!isRecord(value)) return null;
  const text = textOf(value, MOST_CHARACTERS, redactor.isSecretKey);
  // `textOf` writes dates, maps and unreadable values as strings or arrays, which are not settings.
  return text.startsWith('{') ? (masked(JSON.parse(text), redactor) as Record<string, unknown>) : null;
}

/** The recursion ends because parsed JSON is a tree, and `textOf` bounds its depth. */
function masked(value: unknown, redactor: Redactor): unknown {
  if (typeof value === 'string') return wellFormed(redactor.text(value, 'config'));
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => masked(item, redactor));
  // Mask the member names too: some settings are keyed by URL.
  const show = (name: string): string => wellFormed(redactor.text(name, 'config'));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [show(key), masked(item, redactor)]));
}
