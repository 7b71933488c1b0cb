/** What this instance knows better than the store: tasks that are not written yet. */
import type { Task } from '../../../model.ts';
import type { ReadContext } from '../../../source.ts';
import type { StoredTask } from '../../store.ts';
import { bothOf } from '../task-backlog.ts';
import type { ReaderContext } from './reader-context.ts';
import { type ColdTask, readStored, rowOf } from './stored-rows.ts';

/** Unwritten tasks. They can be read until they are written and dropped: whoever finds one gone reads the stored one. */
export interface Overlay {
  readonly ids: Set<string>;
  read(id: string): ColdTask | null;
  row(id: string): Task | null;
}

/** Most unwritten tasks that are completed with what is stored of them. */
const MOST_COMPLETED = 1_000;

/**
 * Whether this instance knows of some tasks only a part, and others know the rest: then the store is the answer, and what
 * this instance has not written yet is added to it.
 */
export function knowsParts({ hearing, droppedThrough }: ReaderContext): boolean {
  return hearing() === 'part' && droppedThrough() === Number.POSITIVE_INFINITY;
}

/** Rejects with an error of the API if the store has to be read and cannot be. */
export async function readOverlay(reader: ReaderContext, context: ReadContext): Promise<Overlay> {
  const { memory, reads } = reader;
  const ids = new Set(reader.unwritten());
  const whole = new Map<string, ColdTask>();
  if (knowsParts(reader) && ids.size > 0 && ids.size <= MOST_COMPLETED) {
    for (const task of await reads.read((session) => session.tasks.find([...ids]), context)) {
      const [rest, own] = [readStored(task, task.texts !== null), reader.readTask(task.id)];
      if (rest !== null && own !== null) whole.set(task.id, bothOf(rest, own));
    }
  }
  const read = (id: string): ColdTask | null => whole.get(id) ?? reader.readTask(id);
  return {
    ids,
    read,
    row(id) {
      const row = whole.has(id) ? null : memory.row(id);
      const cold = row === null ? read(id) : null;
      return cold === null ? row : rowOf(cold, memory);
    },
  };
}

/** A task as stored, perhaps on two days by two instances, with what this instance knows. @param stored with long texts */
export function wholeOf(stored: readonly StoredTask[], own: ColdTask | null): ColdTask | null {
  return stored
    .flatMap((task) => readStored(task, true) ?? [])
    .reduce<ColdTask | null>((whole, task) => (whole === null ? task : bothOf(task, whole)), own);
}
