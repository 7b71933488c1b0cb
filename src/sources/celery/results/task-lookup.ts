/** A task source that also finds tasks that are not in the history, as long as the backend has them. */
import type { HistoryReader } from '../../../history/history.ts';
import { createMemoryHistory } from '../../../history/memory-history.ts';
import type { RetentionOptions } from '../../../history/retention.ts';
import type { HistorySources } from '../../../history/store-parts.ts';
import { createLruCache, type LruCache } from '../../../lru-cache.ts';
import type { TaskTree } from '../../../model.ts';
import type { Redactor } from '../../../redact.ts';
import { type Steps, scheduler } from '../../../scheduler.ts';
import { createSingleFlight, type SingleFlight } from '../../../single-flight.ts';
import { signalWithin, waitFor } from '../../../waiting.ts';
import type { Lineage } from '../lineage/lineage.ts';
import { isId, type StoredResult } from '../protocol/messages.ts';
import { type Aside, type ResultIntake, takeResults } from './result-scan.ts';

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
export function createFoundTasks(maxValueLength: number, redactor: Redactor | null) {
  const create = () => createMemoryHistory({ ...FOUND, maxValueLength, redactor, eventless: true });
  let history = create();
  let revision = 0;
  return {
    add({ change }: StoredResult) {
      // A history keeps the latest tasks, however old the one is that is wanted now.
      if (!history.index.wouldKeep(change.time ?? Date.now())) {
        history.close();
        history = create();
      }
      history.writer.recordTask(change);
      revision += 1;
    },
    reader: () => history.reader,
    /** Changes whenever an answer could have changed. */
    revision: () => revision,
    close: () => history.close(),
  };
}

/** @returns the same source, which looks up unknown tasks */
export function withTaskLookup(
  tasks: TaskPart,
  taskLookup: {
    readonly reader: HistoryReader;
    readonly lineage: Lineage;
    readonly lookup: ResultLookup;
    /** Tasks that were looked up and that the history does not keep. */
    readonly found: ReturnType<typeof createFoundTasks>;
  },
): TaskPart {
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

/** Ids that wait or are looked up at a time; more are not looked up. */
const MAX_WAITING = 5_000;
/** Ids in one look-up. */
const BATCH = 500;
/** How long an id without a result is not looked up again, and the maximum number of such ids. */
const MISSING_FOR_MS = 1_000;
const MAX_MISSING = 5_000;

/**
 * Looks up the stored results of tasks for the history. Never rejects; finds nothing while the backend is
 * unreachable.
 *
 * @param signal ends the wait
 * @returns how many of the ids have a result
 */
type ResultLookup = (ids: Iterable<string>, signal: AbortSignal) => Promise<number>;

interface State {
  readonly intake: ResultIntake;
  readonly aside: Aside;
  readonly signal: AbortSignal;
  /** Look-ups of ids, shared by concurrent callers. */
  readonly searches: SingleFlight<boolean>;
  /** When ids were found to have no result, by the monotonic clock. */
  readonly missing: LruCache<number>;
  readonly queue: {
    readonly id: string;
    settle(found: boolean): void;
  }[];
  isRunning: boolean;
}

/**
 * Looks up in batches, each id once at a time.
 *
 * @param aside receives results that the history would not keep
 * @param stopping ends it
 */
export function createResultLookup(intake: ResultIntake, aside: Aside, stopping: AbortSignal): ResultLookup {
  const searches = createSingleFlight<boolean>();
  const missing = createLruCache<number>({ entries: MAX_MISSING });
  const state: State = { intake, aside, signal: stopping, searches, missing, queue: [], isRunning: false };
  return async (ids, signal) => {
    if (signal.aborted) return 0;
    let count = 0;
    const searches = [...new Set(ids)].flatMap((id) => find(state, id) ?? []);
    const counted = searches.map(async (search) => {
      if (await search) count += 1;
    });
    if (counted.length > 0) await waitFor(Promise.all(counted), { signal });
    return count;
  };
}

/** @returns whether the id has a result; `null` when it is not looked up */
function find(state: State, id: string): Promise<boolean> | null {
  const { searches, missing, signal } = state;
  if (!searches.has(id)) {
    const isMissing = performance.now() - (missing.get(id) ?? Number.NEGATIVE_INFINITY) < MISSING_FOR_MS;
    if (signal.aborted || !isId(id) || searches.size >= MAX_WAITING || isMissing) return null;
  }
  return searches.run(id, () => ({ result: enqueue(state, id) }));
}

function enqueue(state: State, id: string): Promise<boolean> {
  // Later, so that ids that are requested together are looked up together.
  if (!state.isRunning) setImmediate(() => void run(state));
  state.isRunning = true;
  return new Promise((settle) => {
    state.queue.push({ id, settle });
  });
}

async function run(state: State): Promise<void> {
  const { queue, missing } = state;
  while (queue.length > 0) {
    const batch = queue.splice(0, BATCH);
    const found = new Set<string>();
    try {
      await ask(
        state,
        batch.map(({ id }) => id),
        found,
      );
      for (const { id } of batch) if (!found.has(id)) missing.set(id, performance.now());
    } catch {
      // The backend is unreachable, so it is unknown whether the others have a result.
    }
    for (const { id, settle } of batch) settle(found.has(id));
  }
  state.isRunning = false;
}

async function ask(
  { intake, aside, signal }: State,
  ids: readonly string[],
  found: Set<string>,
): Promise<void> {
  for await (const values of intake.stored.find(ids, signal)) {
    await takeResults(intake, values, aside);
    for (const { id } of values) found.add(id);
  }
}
