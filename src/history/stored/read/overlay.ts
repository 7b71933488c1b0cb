/** What this instance knows better than the store: tasks that are not written yet. */
import { scheduler } from '../../../scheduler.ts';
import type { ReadContext } from '../../../source.ts';
import type { StoredTask } from '../../store.ts';
import { bothOf } from '../task-backlog.ts';
import type { ReaderContext } from './reader-context.ts';
import { type ColdTask, readStored } from './stored-rows.ts';

/** By id. */
export type Overlay = ReadonlyMap<string, ColdTask>;

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
  const own = new Map<string, ColdTask>();
  await scheduler.run('list', reader.unwritten(own), context);
  if (!knowsParts(reader) || own.size === 0 || own.size > MOST_COMPLETED) return own;
  const stored = await reader.reads.read((session) => session.tasks.find([...own.keys()]), context);
  for (const task of stored) {
    const [rest, known] = [readStored(task, task.texts !== null), own.get(task.id)];
    if (rest !== null && known !== undefined) own.set(task.id, bothOf(rest, known));
  }
  return own;
}

/** A task as stored, perhaps on two days by two instances, with what this instance knows. @param stored with long texts */
export function wholeOf(stored: readonly StoredTask[], own: ColdTask | null): ColdTask | null {
  return stored
    .flatMap((task) => readStored(task, true) ?? [])
    .reduce<ColdTask | null>((whole, task) => (whole === null ? task : bothOf(task, whole)), own);
}
