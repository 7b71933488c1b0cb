import { type KeysOf, readBoolean, refuseUnknownKeys, wrongOption } from '../check-options.ts';
import { TASK_FILTERS, TASK_SORTS } from '../source/task-capabilities.ts';
import type { TaskCapabilities } from '../source.ts';
import { isRecord } from '../values.ts';

const KEYS: KeysOf<TaskCapabilities> = { sorts: true, filters: true, search: true, total: true };

/**
 * Checks the `capabilities` of a source of tasks.
 *
 * @param option its path, such as `sources.tasks.capabilities`
 * @throws TypeError that says what to write
 */
export function checkCapabilities(caller: string, option: string, value: unknown): void {
  if (value === undefined) return;
  if (!isRecord(value)) throw wrongOption(caller, option, 'an object such as { search: false }', value);
  refuseUnknownKeys(caller, value, KEYS, `${option}.`);
  checkSome(caller, `${option}.sorts`, value.sorts, TASK_SORTS);
  checkSome(caller, `${option}.filters`, value.filters, TASK_FILTERS);
  if (Array.isArray(value.sorts) && !value.sorts.includes('timestamp')) {
    throw new TypeError(
      `${caller}: '${option}.sorts' must include 'timestamp', the order of every first page.`,
    );
  }
  readBoolean(caller, `${option}.search`, value.search, true);
  readBoolean(caller, `${option}.total`, value.total, true);
}

function checkSome(caller: string, option: string, value: unknown, known: readonly string[]): void {
  if (value === undefined) return;
  if (!Array.isArray(value) || !value.every((one) => known.includes(one))) {
    throw wrongOption(caller, option, `an array of some of ${known.join(', ')}`, value);
  }
}
