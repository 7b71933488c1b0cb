/** Reads texts and names of tasks from the table. */
import type { Task, TaskTextField } from '../../model.ts';
import type { FamilyNames } from '../../select/callers.ts';
import type { TaskFigures } from '../../select/task-figures.ts';
import type { Relatives } from '../index/task-index.ts';
import type { Records } from '../table/records.ts';
import type { Text } from '../table/values.ts';

/**
 * What a search examines.
 *
 * @param isRedacted whether the texts have no secrets
 */
export function readTexts(records: Records, slot: number, isRedacted: boolean): Task {
  const state = records.states.text(records.state[slot] as number);
  const isSuccess = state === 'SUCCESS';
  const read = (text: Text | null | undefined): string | null => records.values.read(text ?? null).text;
  return {
    id: records.ids[slot] as string,
    state,
    name: textOf(records.names, records.name[slot] as number),
    worker: textOf(records.workers, records.worker[slot] as number),
    queue: textOf(records.queues, records.queue[slot] as number),
    args: read(records.args[slot]),
    kwargs: read(records.kwargs[slot]),
    result: isSuccess ? read(records.results[slot]) : null,
    exception: isSuccess ? null : read(records.extras.get(slot)?.exception),
    redacted: isRedacted,
  };
}

/** Name and queue of a task. */
export function namesOf(records: Records, slot: number): Pick<TaskFigures, 'name' | 'queue'> {
  return {
    name: textOf(records.names, records.name[slot] as number),
    queue: textOf(records.queues, records.queue[slot] as number),
  };
}

/** Displayed texts of which the table keeps only a part. */
export function shortenedTexts(records: Records, slot: number, state: string): TaskTextField[] {
  const extra = records.extras.get(slot);
  const isSuccess = state === 'SUCCESS';
  const texts: [TaskTextField, Text | null | undefined][] = [
    ['args', records.args[slot]],
    ['kwargs', records.kwargs[slot]],
    ['result', isSuccess ? records.results[slot] : null],
    ['exception', isSuccess ? null : extra?.exception],
    ['traceback', isSuccess ? null : extra?.traceback],
  ];
  return texts.flatMap(([field, text]) => (records.values.read(text ?? null).cut ? [field] : []));
}

function textOf(strings: Records['names'], string: number): string | null {
  return string === 0 ? null : strings.text(string);
}

/** The names of the tasks in memory and of those that they sent. The indexes must have caught up. */
export function familyNames(records: Records, { byParent }: Pick<Relatives, 'byParent'>): FamilyNames {
  return {
    nameOf(id) {
      const slot = records.slots.get(id);
      return slot === undefined ? null : namesOf(records, slot).name;
    },
    *namesSentBy(id) {
      for (const slot of byParent.list(id)) {
        // It may have been dropped since the list was made.
        if (records.parents[slot] === id) yield namesOf(records, slot).name;
      }
    },
  };
}
