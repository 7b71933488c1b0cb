/** Tasks that were looked up and are too old for the history. */

import type { TaskChange } from '../../../history/history.ts';
import { merge } from '../../../history/merge/merge.ts';
import type { TaskRecord } from '../../../history/merge/record.ts';
import { emptyRecord } from '../../../history/merge/record-fields.ts';
import { toTask, toTaskDetail } from '../../../history/merge/task.ts';
import { createLruCache } from '../../../lru-cache.ts';
import type { TaskDetail, TaskTextField, TaskTree } from '../../../model.ts';
import { type Redactor, redactValue } from '../../../redact.ts';
import type { StoredResult } from '../protocol/messages.ts';

const MAX_TASKS = 1_000;
const MAX_BYTES = 16 * 1024 * 1024;
/** Approximate size of a record without its texts, in bytes. */
const RECORD_BYTES = 1_000;
const TEXTS: readonly (TaskTextField & keyof TaskRecord)[] = [
  'args',
  'kwargs',
  'result',
  'exception',
  'traceback',
];

/** Keeps the tasks that were requested last. */
export interface FoundTasks {
  add(result: StoredResult): void;
  getTask(id: string): TaskDetail | null;
  /** The workflow of a task, as far as its tasks were found. */
  getTaskTree(id: string): TaskTree | null;
  /** Changes whenever an answer could have changed. */
  revision(): number;
}

/**
 * @param valueLength longest text to keep of one value, in characters
 * @param redactor removes secrets before a task is kept. Default: none; texts stay as they are
 */
export function createFoundTasks(valueLength: number, redactor: Redactor | null = null): FoundTasks {
  const cache = createLruCache<TaskRecord>({ entries: MAX_TASKS, bytes: MAX_BYTES, sizeOf });
  const isRedacted = redactor !== null;
  let revision = 0;
  const find = (id: string): TaskRecord | undefined => cache.get(id);

  return {
    add({ change }) {
      const { id } = change;
      const kept = redacted(shorten(change, valueLength), redactor);
      cache.set(id, merge(cache.get(id) ?? emptyRecord(id), kept, Date.now()));
      revision += 1;
    },
    getTask(id) {
      const record = cache.get(id);
      if (record === undefined) return null;
      const children = [...cache.values()].filter(({ parentId }) => parentId === id);
      return toTaskDetail(
        record,
        children.map((child) => child.id),
        { rootId: rootOf(record, find), isRedacted },
      );
    },
    getTaskTree(id) {
      const record = cache.get(id);
      if (record === undefined) return null;
      return {
        rootId: rootOf(record, find) ?? ancestorsOf(record, find).at(-1)?.id ?? id,
        tasks: relatedTo(record, [...cache.values()]).map((task) =>
          toTask(task, { rootId: rootOf(task, find), isRedacted }),
        ),
        relations: [],
        truncated: false,
      };
    },
    revision: () => revision,
  };
}

function sizeOf(record: TaskRecord): number {
  const characters = TEXTS.reduce((sum, field) => sum + (record[field]?.length ?? 0), 0);
  return RECORD_BYTES + 2 * characters;
}

function shorten(change: TaskChange, length: number): TaskChange {
  const long = TEXTS.filter((field) => (change[field]?.length ?? 0) > length);
  if (long.length === 0) return change;
  const texts = Object.fromEntries(long.map((field) => [field, change[field]?.slice(0, length)]));
  return { ...change, ...texts, truncated: [...new Set([...(change.truncated ?? []), ...long])] };
}

/** The same change without secrets. */
function redacted(change: TaskChange, redactor: Redactor | null): TaskChange {
  if (redactor === null) return change;
  const texts: { [Field in TaskTextField | 'detail']?: string } = {};
  for (const field of [...TEXTS, 'detail'] as const) {
    const text = change[field];
    const isCut = field !== 'detail' && change.truncated?.includes(field) === true;
    if (typeof text === 'string') texts[field] = redactor.text(text, field, isCut);
  }
  return { ...change, ...texts, stamps: redactValue(change.stamps, 'stamps', redactor) };
}

/** A task and its known ancestors, the task first. */
function ancestorsOf(task: TaskRecord, find: (id: string) => TaskRecord | undefined): TaskRecord[] {
  const line = new Set([task]);
  for (const { parentId } of line) {
    const parent = parentId === null ? undefined : find(parentId);
    if (parent !== undefined) line.add(parent);
  }
  return [...line];
}

/** The root that the task or one of its ancestors names; `null` if none names one. */
function rootOf(task: TaskRecord, find: (id: string) => TaskRecord | undefined): string | null {
  for (const { id, rootId, parentId, hasNoParent } of ancestorsOf(task, find)) {
    if (rootId !== null) return rootId;
    if (parentId === null && hasNoParent) return id;
  }
  return null;
}

/** All tasks that parents, groups and chords connect with a task, itself first. */
function relatedTo(task: TaskRecord, all: readonly TaskRecord[]): TaskRecord[] {
  const byName = new Map<string, TaskRecord[]>();
  for (const record of all) {
    for (const name of namesOf(record)) {
      const others = byName.get(name);
      if (others === undefined) byName.set(name, [record]);
      else others.push(record);
    }
  }
  const related = new Set([task]);
  const seen = new Set<string>();
  // The loop also visits the tasks that it adds.
  for (const record of related) {
    for (const name of namesOf(record)) {
      if (seen.has(name)) continue;
      seen.add(name);
      for (const other of byName.get(name) ?? []) related.add(other);
    }
  }
  return [...related];
}

/** What connects a task with others: tasks that have a name in common are related. */
function namesOf({ id, parentId, chordId, groupId }: TaskRecord): string[] {
  const tasks = [id, parentId, chordId].flatMap((name) => (name === null ? [] : `task ${name}`));
  return groupId === null ? tasks : [...tasks, `group ${groupId}`];
}
