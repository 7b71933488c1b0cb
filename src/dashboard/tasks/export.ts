/** Exports the filtered list to a file or as a command. */
import type { TaskListQuery } from '../../client.ts';
import type { TaskBody } from '../../wire.ts';
import { base, client } from '../live/connection.ts';

/** Maximum number of exported tasks, limited by the memory of a tab. */
export const MOST_EXPORTED = 100_000;

const COLUMNS = [
  'task_id',
  'name',
  'state',
  'worker',
  'queue',
  'sent',
  'received',
  'started',
  'finished',
  'timestamp',
  'runtime',
  'retries',
  'args',
  'kwargs',
  'result',
  'exception',
  'eta',
  'expires',
  'parent_id',
  'root_id',
  'group_id',
  'flags',
  'source',
] as const satisfies readonly (keyof TaskBody)[];

/** Reads the whole list. @param onCount called after every 1,000 tasks with their number so far */
export async function readAll(
  query: TaskListQuery,
  onCount: (count: number) => void,
  signal: AbortSignal,
): Promise<TaskBody[]> {
  const rows: TaskBody[] = [];
  for await (const task of client.eachTask({ ...query, limit: 1_000 }, { signal })) {
    rows.push(task);
    if (rows.length % 1_000 === 0) onCount(rows.length);
    if (rows.length >= MOST_EXPORTED) break;
  }
  return rows;
}

/** Writes tasks as CSV with a header row. */
export function toCsv(rows: readonly TaskBody[]): string {
  const lines = rows.map((row) => COLUMNS.map((column) => cell(row[column])).join(','));
  return `${[COLUMNS.join(','), ...lines].join('\r\n')}\r\n`;
}

function cell(value: TaskBody[keyof TaskBody]): string {
  if (value === null) return '';
  const text = Array.isArray(value) ? value.join(' ') : String(value);
  // Spreadsheets run a cell with such a beginning as a formula. Depending on their settings, a cell also begins behind
  // a semicolon, a tab or a line break.
  const safe = typeof value === 'string' ? text.replaceAll(/(^|[;\t\r\n])(?=[=+\-@\t\r])/g, "$1'") : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Offers a text as a file to save. @param type media type */
export function download(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A shell command that requests the same list. */
export function curlOf(path: string, query: TaskListQuery = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const item of Array.isArray(value) ? value : [value]) parameters.append(name, String(item));
  }
  const search = parameters.toString();
  const url = `${location.origin}${base}${path}${search === '' ? '' : `?${search}`}`;
  return `curl '${url.replaceAll("'", String.raw`'\''`)}'`;
}
