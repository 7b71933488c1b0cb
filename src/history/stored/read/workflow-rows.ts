/**
 * Rows of the tasks of a workflow that only the store has. Records may take 15 kB each: they are read in small parts,
 * and the rows of a large workflow keep only the part of their texts that graphs show.
 */
import type { Task, TaskTextField } from '../../../model.ts';
import { type Steps, scheduler } from '../../../scheduler.ts';
import type { ReadContext } from '../../../source.ts';
import { type StoredTask, WHOLE_AT_ONCE } from '../../store.ts';
import { ownCopy } from '../../table/redaction.ts';
import { FIRST_READ, nextReadSize } from './read-size.ts';
import type { ReaderContext } from './reader-context.ts';
import { type ColdTask, readStored, rowOf } from './stored-rows.ts';

/** Rows keep whole texts until this many characters of records have been read for a workflow. */
const WHOLE_CHARACTERS = 16_000_000;
/** Longest text of later rows, in characters: as much as graphs show by default. */
const LONGEST_TEXT = 256;
const SHORTENED = ['args', 'kwargs', 'result', 'exception'] as const satisfies readonly TaskTextField[];
/** Records that are read between two pauses. */
const RECORDS_AT_ONCE = 16;
/** Most tasks whose long texts are read, and most characters of these: the end of a traceback is shown. */
const MOST_WHOLE = 1_000;
const MOST_WHOLE_CHARACTERS = 16_000_000;

/** @returns the rows of these tasks, by id: of those that are stored */
export async function readRows(
  reader: ReaderContext,
  ids: readonly string[],
  context: ReadContext,
): Promise<ReadonlyMap<string, Task>> {
  const rows = new Map<string, Task>();
  let characters = 0;
  let size = FIRST_READ;
  for (let at = 0; at < ids.length; ) {
    const asked = ids.slice(at, at + size);
    at += asked.length;
    const tasks = await reader.reads.read((session) => session.tasks.find(asked), context);
    await scheduler.run('workflow', addRows(reader, rows, tasks, characters > WHOLE_CHARACTERS), context);
    characters += tasks.reduce((sum, { record }) => sum + record.length, 0);
    size = nextReadSize(tasks);
  }
  return rows;
}

function* addRows(
  { memory }: ReaderContext,
  rows: Map<string, Task>,
  tasks: readonly StoredTask[],
  isShort: boolean,
): Steps<void> {
  // Two instances may have stored a task on two days.
  const versions = new Map<string, number>();
  for (const [at, task] of tasks.entries()) {
    if (at % RECORDS_AT_ONCE === RECORDS_AT_ONCE - 1) yield;
    if ((versions.get(task.id) ?? 0) >= task.version) continue;
    versions.set(task.id, task.version);
    const cold = readStored(task, task.texts !== null);
    if (cold !== null) rows.set(task.id, rowOf(isShort ? shorten(cold) : cold, memory));
  }
}

function shorten({ record, rootId, shortened }: ColdTask): ColdTask {
  const long = SHORTENED.filter((field) => (record[field]?.length ?? 0) > LONGEST_TEXT);
  if (long.length === 0) return { record, rootId, shortened };
  const texts = long.map((field) => [field, ownCopy(record[field]?.slice(0, LONGEST_TEXT) ?? '')]);
  const truncated = record.truncated.filter((field) => !long.some((one) => one === field));
  return {
    record: { ...record, ...Object.fromEntries(texts), truncated },
    rootId,
    shortened: [...new Set([...shortened, ...long])],
  };
}

/** Reads the whole tracebacks of stored tasks that failed with a long one. */
export async function withTracebacks(
  { memory, reads }: ReaderContext,
  tasks: readonly Task[],
  isStored: (id: string) => boolean,
  context: ReadContext,
): Promise<readonly Task[]> {
  const cut = tasks.filter(({ id, truncated }) => isStored(id) && truncated?.includes('traceback') === true);
  const ids = cut.slice(0, MOST_WHOLE).map(({ id }) => id);
  const whole = new Map<string, Task>();
  let characters = 0;
  for (let at = 0; at < ids.length && characters < MOST_WHOLE_CHARACTERS; at += WHOLE_AT_ONCE) {
    const batch = ids.slice(at, at + WHOLE_AT_ONCE);
    for (const task of await reads.read((session) => session.tasks.read(batch), context)) {
      characters += task.texts?.length ?? 0;
      const cold = readStored(task, true);
      if (cold !== null) whole.set(task.id, rowOf(cold, memory));
    }
  }
  if (whole.size === 0) return tasks;
  return tasks.map((task) => {
    const { rootId = null, groupId = null, chordId = null } = task;
    const row = whole.get(task.id);
    return row === undefined ? task : Object.freeze({ ...row, rootId, groupId, chordId });
  });
}
