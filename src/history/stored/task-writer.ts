/**
 * Writes changed tasks behind the messages, in batches. Nothing that records or answers waits for it: the scheduler
 * gives the time to prepare batches. While the database is unreachable, the changes stay in memory.
 */
import { isDone } from '../../model.ts';
import { runInSlices, type Steps } from '../../scheduler.ts';
import { isRecord } from '../../values.ts';
import type { MemoryAccess } from '../memory/memory-access.ts';
import type { KeptTask } from '../memory/tap.ts';
import { lifeOf } from '../merge/life.ts';
import { copyRecord, type TaskRecord } from '../merge/record.ts';
import { causeOfKept } from '../merge/task.ts';
import { type StoredTask, type StoreSession, type TaskStore, WHOLE_AT_ONCE } from '../store.ts';
import { createPauses } from './loading.ts';
import { readKeptTask, writeRecordText } from './record-text.ts';
import type { StoreCalls, StoreClock } from './store-calls.ts';
import {
  type CauseNotes,
  lose,
  putBack,
  rememberVersion,
  settle,
  stepsOf,
  type TaskBacklog,
} from './stored-state.ts';

/** Tasks of one statement: few, so that none holds up the event loop; more where many wait. */
const BATCH = 250;
const LARGE_BATCH = 1_000;
const MANY = 5_000;
/** Most characters of one statement; a batch may exceed it by one task. */
const BATCH_TEXT = 4 * 1024 * 1024;
/** How often a task is merged with concurrent writes of others before it waits for the next time. */
const ATTEMPTS = 3;

/**
 * Writes the oldest waiting tasks, as many as fit into one statement.
 *
 * @returns how many no longer wait
 */
export async function writeTasks(context: TaskWriterContext, session: WrittenSession): Promise<number> {
  const { backlog, access, calls } = context;
  const { tasks: store } = session;
  const { changed, writing, versions } = backlog;
  const before = changed.size;
  const batch: Batch = { open: oldestOf(changed, before > MANY ? LARGE_BATCH : BATCH), stored: new Map() };
  for (const id of batch.open) writing.add(id);
  try {
    let unknown = batch.open.filter((id) => !versions.has(id));
    for (let attempt = 1; batch.open.length > 0 && attempt <= ATTEMPTS; attempt++) {
      await lookUp(context, store, batch, unknown);
      const tasks = await runInSlices('store', storedTasks(context, batch));
      const done =
        tasks.length === 0 ? NONE : await calls.ask('write', () => writeBatch(context, session, tasks));
      for (const { id, day, version } of tasks) {
        if (!done.has(id)) continue;
        // Of a task that memory has dropped meanwhile, later messages contain only a part.
        if (access.has(id)) rememberVersion(backlog, id, { day, version });
        settle(backlog, id);
        writing.delete(id);
      }
      putBack(backlog);
      // Another instance has written these, or their stored data has to be read.
      unknown = batch.open = batch.open.filter((id) => writing.has(id));
    }
  } finally {
    putBack(backlog);
    writing.clear();
    // A task that has changed again before it could be written has waited since its first change.
    backlog.again.clear();
  }
  return before - changed.size;
}

/** The tables to which tasks are written. */
type WrittenSession = Pick<StoreSession, 'tasks' | 'causes'>;

const NONE: ReadonlySet<string> = new Set();

/** Writes tasks. One that the database refuses is left out, so that it does not hold up the others for ever. */
async function writeBatch(
  { backlog, causes }: TaskWriterContext,
  { tasks: store, causes: found }: WrittenSession,
  tasks: readonly StoredTask[],
): Promise<ReadonlySet<string>> {
  // Data that a task refers to is written before the task.
  await causes.write(found);
  try {
    return await store.write(tasks);
  } catch (error) {
    if (!isRefused(error)) throw error;
  }
  const done = new Set<string>();
  for (const task of tasks) {
    try {
      for (const id of await store.write([task])) done.add(id);
    } catch (error) {
      if (!isRefused(error)) throw error;
      lose(backlog, task.id);
      backlog.writing.delete(task.id);
    }
  }
  return done;
}

/** Whether the database refuses a value, and not the statement. */
function isRefused(error: unknown): boolean {
  return isRecord(error) && error.code === 'refused';
}

function oldestOf(changed: ReadonlyMap<string, number>, most: number): string[] {
  const ids: string[] = [];
  for (const id of changed.keys()) {
    if (ids.length === most) break;
    ids.push(id);
  }
  return ids;
}

/** The tasks as they are to be stored, as many as one statement takes. The others wait for the next one. */
function* storedTasks(context: TaskWriterContext, batch: Batch): Steps<StoredTask[]> {
  const { backlog, clock } = context;
  const pauses = createPauses();
  const today = dayAt(clock);
  const tasks: StoredTask[] = [];
  let text = 0;
  for (const id of batch.open) {
    const task = context.access.readTask(id);
    const { day, version } = backlog.versions.get(id) ?? { day: today, version: 0 };
    const whole = task === null || version === 0 ? task : wholeTask(task, batch.stored.get(id));
    if (task === null) lose(backlog, id);
    if (task === null || text >= BATCH_TEXT) backlog.writing.delete(id);
    if (whole === null || text >= BATCH_TEXT) continue;
    // Later changes are not part of this write.
    backlog.again.delete(id);
    backlog.told.set(id, backlog.steps.get(id) ?? []);
    backlog.steps.delete(id);
    const stored = toStored(whole, day, version + 1, context.causes);
    text += stored.record.length + (stored.texts?.length ?? 0);
    tasks.push(stored);
    if (pauses.isDue()) {
      yield;
      pauses.begin();
    }
  }
  return tasks;
}

/**
 * A task with the whole stored texts, if memory has only their beginning.
 *
 * @returns `null`: it has to be looked up first
 */
function wholeTask(task: KeptTask, stored: TaskRecord | undefined): KeptTask | null {
  if (task.shortened.length === 0) return task;
  if (stored === undefined) return null;
  const record = copyRecord(task.record);
  for (const field of task.shortened) {
    const [text, beginning] = [stored[field], record[field]];
    if (text === null || beginning === null || text.length <= beginning.length) continue;
    record[field] = text;
    if (!stored.truncated.includes(field)) record.truncated = record.truncated.filter((one) => one !== field);
  }
  return { ...task, record };
}

/** @param version of this write */
function toStored(task: KeptTask, day: number, version: number, causes: CauseNotes): StoredTask {
  const { record, rootId } = task;
  const life = lifeOf(record.entries, record.runtime);
  const cause = causeOfKept(task, life);
  if (cause !== null && life.timestamp !== null) causes.add(cause, life.timestamp);
  const text = writeRecordText(record, cause);
  // One literal without `...`: such objects are made a thousand times a second, and take a fifth of the memory.
  return {
    id: record.id,
    day,
    version,
    isOpen: !isDone(life.state),
    state: life.state,
    name: record.name,
    worker: life.worker,
    queue: record.queue,
    rootId,
    parentId: record.parentId,
    groupId: record.groupId,
    chordId: record.chordId,
    timestamp: life.timestamp,
    received: life.received,
    started: life.started,
    finished: life.finished,
    runtime: life.runtime,
    cause: life.state === 'FAILURE' ? (cause?.id ?? '') : null,
    record: text.record,
    texts: text.texts,
  };
}

const DAY_MS = 24 * 60 * 60_000;

/** Parameters of writing tasks. */
export interface TaskWriterContext {
  readonly backlog: TaskBacklog;
  readonly access: MemoryAccess;
  readonly calls: StoreCalls;
  readonly clock: StoreClock;
  readonly causes: CauseNotes;
}

/** One batch. */
export interface Batch {
  /** Ids that are not written yet. */
  open: readonly string[];
  /** The stored data of the tasks that were looked up. */
  readonly stored: Map<string, TaskRecord>;
}

/**
 * Reads the stored data of these tasks. If many have long texts, most of them leave the batch and wait for the next
 * one.
 */
async function lookUp(
  context: TaskWriterContext,
  store: TaskStore,
  batch: Batch,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  const { backlog, calls, clock } = context;
  const found = await calls.ask('write', () => store.find(ids));
  const day = dayAt(clock);
  for (const id of ids) rememberVersion(backlog, id, { day, version: 0 });
  const long = await runInSlices('store', takeIn(context, batch, found, false));
  if (long.length === 0) return;
  const whole = await calls.ask('write', () => store.read(long.slice(0, WHOLE_AT_ONCE)));
  await runInSlices('store', takeIn(context, batch, whole, true));
  for (const id of long.slice(WHOLE_AT_ONCE)) {
    backlog.versions.delete(id);
    backlog.writing.delete(id);
  }
  batch.open = batch.open.filter((id) => backlog.writing.has(id));
}

/** The number of a day, by the clock of the database. */
export function dayAt(clock: StoreClock): number {
  return Math.floor(clock.now() / DAY_MS);
}

/**
 * @param isWhole whether the long texts of the tasks were read, too
 * @returns the ids of those with long texts, which were not absorbed
 */
function* takeIn(
  { backlog, access }: TaskWriterContext,
  { stored }: Batch,
  found: readonly StoredTask[],
  isWhole: boolean,
): Steps<readonly string[]> {
  const pauses = createPauses();
  const long: string[] = [];
  for (const task of found) {
    const { id, day, version, rootId } = task;
    const kept = readKeptTask(task);
    if (!isWhole && kept !== null && kept.shortened.length > 0) {
      long.push(id);
      continue;
    }
    const known = backlog.versions.get(id);
    // Two instances that first wrote it at midnight have stored it twice.
    if (known === undefined || known.version === 0 || known.day < day)
      rememberVersion(backlog, id, { day, version });
    // One that memory has dropped meanwhile is lost.
    if (kept === null || !access.has(id)) continue;
    const { record } = kept;
    stored.set(id, record);
    if (backlog.forgotten.has(id)) {
      // What memory has is written over it: the later part says how the task ended.
      backlog.lost++;
      continue;
    }
    access.absorbTask({ record, rootId }, task.timestamp ?? 0, stepsOf(backlog, id));
    if (pauses.isDue()) {
      yield;
      pauses.begin();
    }
  }
  return long;
}
