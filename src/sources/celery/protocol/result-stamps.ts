import { valueEnd } from './json-text.ts';
import { parsePythonJson } from './python-json.ts';

/** Most stamps, and longest stamp; the rest is left out. */
const MOST_STAMPS = 64;
const LONGEST_STAMP = 4_096;

/**
 * Separates the stamps from the other members. Stamps are members of the meta itself, listed in
 * `stamped_headers`, and may have the names of Celery's own members.
 */
export function takeStamps(text: string, members: Map<string, number>): object | undefined {
  const listAt = members.get('stamped_headers');
  if (listAt === undefined || text[listAt] !== '[') return undefined;
  const names: unknown = JSON.parse(text.slice(listAt, valueEnd(text, listAt)));
  if (!Array.isArray(names)) return undefined;
  const stamps: [name: string, value: unknown][] = [];
  for (const name of names) {
    const at = typeof name === 'string' && name !== 'task_id' ? members.get(name) : undefined;
    if (at === undefined) continue;
    members.delete(name);
    const end = valueEnd(text, at);
    const fits = end - at <= LONGEST_STAMP && stamps.length < MOST_STAMPS;
    if (fits) stamps.push([name, parsePythonJson(text.slice(at, end))]);
  }
  return stamps.length === 0 ? undefined : Object.fromEntries(stamps);
}
