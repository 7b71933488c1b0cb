/** Settings as plain JSON, without secrets and of bounded size. */
import type { Redactor } from '../redact.ts';
import { textOf } from '../text.ts';
import { wellFormed } from './scalars.ts';

// Settings are read by people.
const MOST_CHARACTERS = 65_536;

/** `null` for what is no object of members. */
export function plainRecord(value: unknown, redactor: Redactor): Record<string, unknown> | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  const text = textOf(value, MOST_CHARACTERS, redactor.isSecretKey);
  // What is shown as a text or a list (a date, a map, `[Unreadable]`) is no object of members.
  return text.startsWith('{') ? (masked(JSON.parse(text), redactor) as Record<string, unknown>) : null;
}

/** JSON is a tree, so this ends; `textOf` has bounded its depth. */
function masked(value: unknown, redactor: Redactor): unknown {
  if (typeof value === 'string') return wellFormed(redactor.text(value, 'config'));
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => masked(item, redactor));
  // Names are texts, too: settings by the URL that they belong to.
  const show = (name: string): string => wellFormed(redactor.text(name, 'config'));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [show(key), masked(item, redactor)]));
}
