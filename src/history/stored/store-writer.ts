/**
 * Writes changed tasks behind the messages: about once a second, in batches, only what has changed since. Nothing that
 * records or answers waits for it. While the database is away the changes stay where they are, in memory.
 */

import { isDone } from '../../model.ts';
import { lifeOf } from '../merge/life.ts';
import { mergeRecords } from '../merge/merge-records.ts';
import type { TaskRecord } from '../merge/record.ts';
import type { StoredTask, TaskStore } from '../store.ts';
import { readRecordText, writeRecordText } from './record-text.ts';

/** What the writer takes tasks from, and gives back what others have written. */
export interface WrittenHistory {
  /** A task without secrets; `null`: it is held no more. */
  read(id: string): { readonly record: TaskRecord; readonly rootId: string | null } | null;
  /** Takes in what another instance, or an earlier process, knows of a task. */
  absorb(record: TaskRecord): void;
}

/** How far writing has come. Times in milliseconds since 1970. */
export interface WriterStatus {
  /** Changed tasks that are not written yet. */
  readonly waiting: number;
  /** Since when the oldest of them waits; `null`: none does. */
  readonly waitingSince: number | null;
  readonly lastWrite: number | null;
  /** What the last attempt failed with; `null`: it succeeded. */
  readonly error: Error | null;
  /** Tasks that were dropped from memory before they could be written. */
  readonly lost: number;
}

/** Writes tasks behind their changes. */
export interface StoreWriter {
  /** A task has changed. */
  changed(id: string): void;
  /** A task is about to be dropped from memory. */
  dropping(id: string): void;
  /** Writes all that has changed so far. Rejects with what the store throws. */
  flush(): Promise<void>;
  status(): WriterStatus;
  /** Writes once more, for at most so many milliseconds, and ends. */
  close(withinMs: number): Promise<void>;
}

/** Between two writes, in milliseconds. */
const INTERVAL_MS = 1_000;
/** Longest wait after a failure, in milliseconds. */
const MOST_WAIT_MS = 30_000;
/** Tasks of one statement. */
const BATCH = 1_000;
/** Most tasks that were dropped from memory and wait to be written. */
const MOST_DROPPED = 20_000;
/** How often a task is merged with what others write meanwhile, before it waits for the next time. */
const ATTEMPTS = 3;

const DAY_MS = 24 * 60 * 60_000;

/** The key and version under which a task is stored. */
interface Written {
  readonly day: number;
  readonly version: number;
}

interface WriterState {
  readonly store: TaskStore;
  readonly history: WrittenHistory;
  readonly clock: () => number;
  /** Ids of changed tasks, and since when they wait; the oldest first. */
  readonly changed: Map<string, number>;
  /** Changed tasks that memory has dropped. */
  readonly dropped: Map<string, { readonly record: TaskRecord; readonly rootId: string | null }>;
  /** Of the tasks in memory: under which key they are stored. */
  readonly written: Map<string, Written>;
  lastWrite: number | null;
  error: Error | null;
  lost: number;
}

/** @param clock milliseconds since 1970 */
export function createStoreWriter(
  store: TaskStore,
  history: WrittenHistory,
  clock: () => number,
): StoreWriter {
  const state: WriterState = {
    ...{ store, history, clock, changed: new Map(), dropped: new Map(), written: new Map() },
    ...{ lastWrite: null, error: null, lost: 0 },
  };
  let wait = INTERVAL_MS;
  let timer: NodeJS.Timeout | null = null;
  let writing: Promise<void> | null = null;

  function schedule(): void {
    timer ??= setTimeout(() => {
      timer = null;
      void flush()
        .then(
          () => (wait = INTERVAL_MS),
          () => (wait = Math.min(wait * 2, MOST_WAIT_MS)),
        )
        .then(() => {
          if (state.changed.size > 0) schedule();
        });
    }, wait);
    timer.unref();
  }

  function flush(): Promise<void> {
    writing ??= writeAll(state).finally(() => {
      writing = null;
    });
    return writing;
  }

  return {
    changed(id) {
      if (!state.changed.has(id)) state.changed.set(id, clock());
      schedule();
    },
    dropping(id) {
      keepDropped(state, id);
      state.written.delete(id);
    },
    flush,
    status: () => ({
      waiting: state.changed.size,
      waitingSince: state.changed.values().next().value ?? null,
      lastWrite: state.lastWrite,
      error: state.error,
      lost: state.lost,
    }),
    async close(withinMs) {
      if (timer !== null) clearTimeout(timer);
      const limit = new Promise<void>((resolve) => setTimeout(resolve, withinMs).unref());
      await Promise.race([flush().catch(() => {}), limit]);
    },
  };
}

/** What memory drops before it is written is kept for a while, up to a bound. */
function keepDropped({ changed, dropped, history, ...state }: WriterState, id: string): void {
  if (!changed.has(id)) return;
  const task = history.read(id);
  if (task !== null && dropped.size < MOST_DROPPED) {
    dropped.set(id, task);
    return;
  }
  changed.delete(id);
  state.lost++;
}

/** Writes what has changed until now, batch by batch. */
async function writeAll(state: WriterState): Promise<void> {
  try {
    let left = state.changed.size;
    while (left > 0) {
      const ids = [...state.changed.keys()].slice(0, Math.min(left, BATCH));
      left -= ids.length;
      await writeBatch(state, ids);
    }
    state.error = null;
  } catch (error) {
    state.error = error instanceof Error ? error : new Error(String(error));
    throw error;
  }
}

async function writeBatch(state: WriterState, ids: readonly string[]): Promise<void> {
  const { changed, clock } = state;
  const since = new Map(ids.map((id) => [id, changed.get(id) ?? clock()]));
  // What changes while the batch is written waits for the next one.
  for (const id of ids) changed.delete(id);
  let open = [...ids];
  try {
    await lookUp(
      state,
      open.filter((id) => !state.written.has(id)),
    );
    for (let attempt = 1; open.length > 0 && attempt <= ATTEMPTS; attempt++) {
      const tasks = open.flatMap((id) => storedTask(state, id) ?? []);
      const done = await state.store.write(tasks);
      for (const task of tasks) if (done.has(task.id)) settle(state, task);
      open = tasks.filter((task) => !done.has(task.id)).map(({ id }) => id);
      // Another instance has written these.
      await lookUp(state, open);
    }
    state.lastWrite = clock();
  } finally {
    const rest = open.map((id) => [id, since.get(id) ?? clock()] as const);
    if (rest.length > 0) requeue(changed, rest);
  }
}

/** The oldest come first. */
function requeue(changed: Map<string, number>, rest: readonly (readonly [string, number])[]): void {
  const later = [...changed];
  changed.clear();
  for (const [id, at] of [...rest, ...later]) if (!changed.has(id)) changed.set(id, at);
}

/** Reads what is stored of tasks, and takes it in. */
async function lookUp(
  { store, history, written, dropped }: WriterState,
  ids: readonly string[],
): Promise<void> {
  const found = new Map((await store.read(ids)).map((task) => [task.id, task]));
  for (const id of ids) {
    const task = found.get(id);
    if (task === undefined) continue;
    written.set(id, { day: task.day, version: task.version });
    const record = readRecordText(id, task.record, task.texts);
    if (record === null) continue;
    const own = dropped.get(id);
    if (own === undefined) history.absorb(record);
    else dropped.set(id, { ...own, record: mergeRecords(record, own.record) });
  }
}

function storedTask({ history, dropped, written, clock }: WriterState, id: string): StoredTask | null {
  const task = dropped.get(id) ?? history.read(id);
  if (task === null) return null;
  const { day, version } = written.get(id) ?? { day: Math.floor(clock() / DAY_MS), version: 0 };
  return toStored(task.record, task.rootId, day, version + 1);
}

function settle({ written, dropped }: WriterState, { id, day, version }: StoredTask): void {
  if (dropped.delete(id)) written.delete(id);
  else written.set(id, { day, version });
}

/** @param rootId of its workflow, derived if no message named it */
function toStored(record: TaskRecord, rootId: string | null, day: number, version: number): StoredTask {
  const life = lifeOf(record.entries, record.runtime);
  const { id, name, queue, parentId, groupId, chordId } = record;
  return {
    ...{ id, day, version, name, queue, rootId, parentId, groupId, chordId },
    isOpen: !isDone(life.state),
    state: life.state,
    worker: life.worker,
    timestamp: life.timestamp,
    received: life.received,
    started: life.started,
    finished: life.finished,
    runtime: life.runtime,
    ...writeRecordText(record),
  };
}
