/** A task source that also finds tasks that are not in the history, as long as the backend has them. */
import type { HistoryReader } from '../../../history/history.ts';
import { createMemoryHistory } from '../../../history/memory-history.ts';
import type { RetentionOptions } from '../../../history/retention.ts';
import type { HistorySources } from '../../../history/store-parts.ts';
import type { TaskTree } from '../../../model.ts';
import type { Redactor } from '../../../redact.ts';
import { type Steps, scheduler } from '../../../scheduler.ts';
import { signalWithin } from '../../../waiting.ts';
import type { Lineage } from '../lineage/lineage.ts';
import type { StoredResult } from '../protocol/messages.ts';
import type { ResultLookup } from './result-lookup.ts';

/** A history's task source. */
type TaskPart = HistorySources['tasks'];

/** Longest time that a read waits for the backend, in milliseconds; then it is answered from the known data. */
const LONGEST_WAIT = 1_000;
const LONGEST_TREE_WAIT = 2_000;
/** A workflow is completed in this many rounds of this many ids. */
const ROUNDS = 5;
const IDS_A_ROUND = 1_000;
/** Tasks and relations examined between two pauses. */
const ITEMS_AT_ONCE = 256;

/** Tasks that were looked up and that are too old for the history. */
export interface FoundTasks {
  add(result: StoredResult): void;
  readonly reader: () => HistoryReader;
  /** Changes whenever an answer could have changed. */
  revision(): number;
  close(): void;
}

/** Bounds of the history of found tasks. */
const FOUND: RetentionOptions = {
  maxTasks: 1_000,
  maxBytes: 16 * 1024 * 1024,
  taskDays: 36_500,
  maxEvents: 1,
  maxWorkers: 1,
};

/**
 * @param maxValueLength longest text to keep of one value, in characters
 * @param redactor removes secrets; `null`: texts stay as they are
 */
export function createFoundTasks(maxValueLength: number, redactor: Redactor | null): FoundTasks {
  const create = () => createMemoryHistory({ ...FOUND, maxValueLength, redactor, eventless: true });
  let history = create();
  let revision = 0;
  return {
    add({ change }) {
      // A history keeps the latest tasks, however old the one is that is wanted now.
      if (!history.index.wouldKeep(change.time ?? Date.now())) {
        history.close();
        history = create();
      }
      history.writer.recordTask(change);
      revision += 1;
    },
    reader: () => history.reader,
    revision: () => revision,
    close: () => history.close(),
  };
}

/** Where tasks are looked up. */
export interface TaskLookup {
  readonly reader: HistoryReader;
  readonly lineage: Lineage;
  readonly lookup: ResultLookup;
  /** Tasks that were looked up and that the history does not keep. */
  readonly found: FoundTasks;
}

/** @returns the same source, which looks up unknown tasks */
export function withTaskLookup(tasks: TaskPart, taskLookup: TaskLookup): TaskPart {
  const { reader, lineage, lookup, found } = taskLookup;

  async function readTree(
    id: string,
    context: Parameters<TaskPart['getTaskTree']>[1],
  ): Promise<TaskTree | null> {
    return (await tasks.getTaskTree(id, context)) ?? (await found.reader().getTaskTree(id, context));
  }

  return {
    ...tasks,
    status() {
      const status = tasks.status?.() ?? { ok: true, asOf: new Date() };
      const { revision } = status;
      // Answers also depend on the tasks that were found.
      return revision === undefined ? status : { ...status, revision: `${revision}.${found.revision()}` };
    },
    async getTask(id, context) {
      const known = await tasks.getTask(id, context);
      if (known !== null) return known;
      await lookup([id], signalWithin(LONGEST_WAIT, context.signal));
      return (await tasks.getTask(id, context)) ?? (await found.reader().getTask(id, context));
    },
    async getTaskTree(id, context) {
      const signal = signalWithin(LONGEST_TREE_WAIT, context.signal);
      let tree = await readTree(id, context);
      if (tree === null) {
        await lookup([id], signal);
        tree = await readTree(id, context);
      }
      // Tasks that a tree names and lacks although the history has them: they came while it was read.
      const late = new Set<string>();
      for (let round = 0; tree !== null && !signal.aborted && round < ROUNDS; round += 1) {
        const named = await scheduler.run('workflow', referencesOf(tree), context);
        const known = await reader.listKnown(named, { signal });
        const before = late.size;
        // A tree that is cut lacks known tasks for good.
        if (tree.truncated !== true) for (const other of known) late.add(other);
        const count = await lookup(
          unknownOf(lineage.unknownRelatives(id, IDS_A_ROUND), named, known),
          signal,
        );
        if (count === 0 && late.size === before) break;
        tree = await readTree(id, context);
      }
      return tree;
    },
  };
}

/** @returns what to look up: `relatives`, and ids that are `named` and not `known` */
function unknownOf(
  relatives: Iterable<string>,
  named: ReadonlySet<string>,
  known: ReadonlySet<string>,
): ReadonlySet<string> {
  const unknown = new Set(relatives);
  for (const other of named) {
    if (unknown.size >= IDS_A_ROUND) break;
    if (!known.has(other)) unknown.add(other);
  }
  return unknown;
}

/** Tasks that the tasks of a workflow name and that are not among them. */
function* referencesOf({ rootId, tasks, relations = [] }: TaskTree): Steps<ReadonlySet<string>> {
  const named = new Set([rootId]);
  let count = 0;
  for (const { parentId, rootId: root, chordId } of tasks) {
    for (const id of [parentId, root, chordId]) if (typeof id === 'string') named.add(id);
    if (++count % ITEMS_AT_ONCE === 0) yield;
  }
  for (const { parent, child, relation } of relations) {
    named.add(child);
    if (parent !== null && relation !== 'group') named.add(parent);
    if (++count % ITEMS_AT_ONCE === 0) yield;
  }
  for (const { id } of tasks) named.delete(id);
  return named;
}
