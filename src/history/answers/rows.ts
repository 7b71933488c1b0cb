/**
 * Tasks as objects, made when they are read, with the problems that their state and the clock show. An unchanged task is
 * always the same frozen object, so that its JSON can be kept.
 */
import {
  isDone,
  type Task,
  type TaskCause,
  type TaskDetail,
  type TaskFlag,
  type TaskTextField,
} from '../../model.ts';
import type { FamilyNames } from '../../select/callers.ts';
import type { TaskFigures } from '../../select/task-figures.ts';
import type { Relatives } from '../index/task-index.ts';
import { lifeOf, type TaskLife } from '../merge/life.ts';
import { etaOf, toFigures, toTask, withDetails } from '../merge/task.ts';
import { readLife, readRetries } from '../table/record-table.ts';
import { isMissing, type Records } from '../table/records.ts';
import type { TableRedaction } from '../table/redaction.ts';
import type { Text } from '../table/values.ts';

/** Most tasks kept as objects: those of the largest graph, and some pages. */
const MAX_ROWS = 24_000;

/** Tasks as objects. */
export type Rows = ReturnType<typeof createRows>;

/** @returns no tasks yet */
export function createRows(records: Records, redaction: TableRedaction, context: FlagContext) {
  const rows = new Map<number, Task>();

  /** Time alone changes the flags of a task that has not ended. */
  function isFresh(slot: number, row: Task): boolean {
    if (isDone(row.state)) return true;
    return flagsOf(slot, factsOfRow(slot, row, records), records, context).join() === row.flags?.join();
  }

  function make(slot: number): Task {
    const record = redaction.record(slot);
    const life = lifeOf(record.entries, record.runtime);
    const task = toTask(record, {
      life,
      rootId: records.roots[slot] ?? null,
      flags: flagsOf(slot, flagFactsOf(life, record.eta), records, context),
      cause: causeIn(records, slot),
      shortened: shortenedTexts(records, slot, life.state),
      isRedacted: redaction.isActive,
    });
    return Object.freeze(task);
  }

  function get(slot: number): Task {
    const known = rows.get(slot);
    if (known !== undefined && isFresh(slot, known)) return known;
    const row = make(slot);
    if (rows.size >= MAX_ROWS) rows.clear();
    rows.set(slot, row);
    return row;
  }

  return {
    get,
    /** The state alone, also of a task whose indexes have not caught up. */
    state(slot: number): string {
      if (!records.held.records.has(slot)) return records.states.text(records.state[slot] as number);
      return readLife(records, slot).state;
    },
    /** The number of the current attempt, 0 for the first; −1: no message has reported a number. */
    attempt(slot: number): number {
      const { attempt, retries } = readLife(records, slot);
      return retries === null ? -1 : attempt;
    },
    /** What a search examines. */
    brief(slot: number): Task {
      redaction.searched(slot);
      return readTexts(records, slot, redaction.isActive);
    },
    /** What statistics examine. */
    figures: (slot: number): TaskFigures => readFigures(records, slot),
    detail: (slot: number, children: readonly string[]): TaskDetail =>
      withDetails(get(slot), redaction.record(slot), children),
    /** The task has changed. */
    forget(slot: number): void {
      if (rows.size > 0) rows.delete(slot);
    },
    clear: (): void => rows.clear(),
  };
}

function readFigures(records: Records, slot: number): TaskFigures {
  const life = readLife(records, slot);
  const eta = records.extras.get(slot)?.eta ?? null;
  const isEndUnseen = life.state !== 'PENDING' && isMissing(records, slot);
  const { name, queue } = namesOf(records, slot);
  const facts = {
    id: records.ids[slot] as string,
    name,
    queue,
    parentId: records.parents[slot] ?? null,
    isEndUnseen,
    cause: causeIn(records, slot),
  };
  return toFigures(life, facts, eta, readRetries(records, slot));
}

function causeIn({ causes, cause }: Records, slot: number): TaskCause | null {
  return causes.read(cause[slot] as number);
}

/** What flags depend on, as the row shows it. */
function factsOfRow(slot: number, row: Task, records: Records): FlagFacts {
  const { state } = row;
  const eta = row.eta?.getTime() ?? null;
  // Few tasks wait for a retry, and their rows do not name the worker that has them.
  if (state === 'RETRY') return flagFactsOf(readLife(records, slot), eta);
  const since = (row.received ?? row.timestamp)?.getTime() ?? Number.NaN;
  const ranTwice = row.flags?.includes('ran_twice') === true;
  // Called only for tasks that have not ended.
  return { state, since, eta, isOnWorker: state !== 'PENDING', isConsequence: false, ranTwice };
}

/**
 * What a search examines.
 *
 * @param isRedacted whether the texts have no secrets
 */
function readTexts(records: Records, slot: number, isRedacted: boolean): Task {
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
function namesOf(records: Records, slot: number): Pick<TaskFigures, 'name' | 'queue'> {
  return {
    name: textOf(records.names, records.name[slot] as number),
    queue: textOf(records.queues, records.queue[slot] as number),
  };
}

/** Displayed texts of which the table keeps only a part. */
function shortenedTexts(records: Records, slot: number, state: string): TaskTextField[] {
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

/** What flags depend on besides the task. */
export interface FlagContext {
  /** Milliseconds; stands still while the source is disconnected. */
  now(): number;
  /** Whether a task that this worker took at that time (milliseconds, NaN: unknown) is lost. */
  isLost(hostname: string, since: number): boolean;
}

/** The data of a task on which its flags depend. Times in milliseconds since 1970. */
interface FlagFacts {
  readonly state: string;
  /** When its worker took the task, at the latest; NaN: unknown. */
  readonly since: number;
  /** Of the current attempt; `null`: none, or unknown. */
  readonly eta: number | null;
  /** Whether a worker has it and has not ended it. */
  readonly isOnWorker: boolean;
  /** Whether it failed without having run, because another task did. */
  readonly isConsequence: boolean;
  /** Whether one of its attempts ran more than once. */
  readonly ranTwice: boolean;
}

/** @returns what flags depend on */
export function flagFactsOf(life: TaskLife, eta: number | null): FlagFacts {
  const { kind, state, isHeld, ranTwice } = life;
  return {
    state,
    since: life.received ?? life.timestamp ?? Number.NaN,
    eta: etaOf(life, eta),
    isOnWorker: kind === 'retried' ? isHeld : state !== 'PENDING',
    isConsequence: kind === 'propagated',
    ranTwice,
  };
}

/** @returns what is wrong with a task of the table */
function flagsOf(
  slot: number,
  facts: FlagFacts,
  records: Records,
  context: FlagContext,
): readonly TaskFlag[] {
  const worker = records.worker[slot] as number;
  const name = worker === 0 ? null : records.workers.text(worker);
  return flagsFrom(facts, name, isMissing(records, slot), context);
}

/**
 * @param worker that has or had the task; `null`: unknown
 * @param isNowhere whether the task is in no queue and on no worker
 * @returns what is wrong with a task
 */
export function flagsFrom(
  { state, since, eta, isOnWorker, isConsequence, ranTwice }: FlagFacts,
  worker: string | null,
  isNowhere: boolean,
  { now, isLost }: FlagContext,
): readonly TaskFlag[] {
  const repeated: readonly TaskFlag[] = ranTwice ? ['ran_twice'] : [];
  if (isDone(state)) return isConsequence ? ['consequence'] : repeated;
  // The state of its worker does not matter once a task has ended.
  if (isNowhere && state !== 'PENDING') return ['end_unseen', ...repeated];
  const flags: TaskFlag[] = [...repeated];
  if (worker !== null && isOnWorker && isLost(worker, since)) flags.push('worker_lost');
  if (eta !== null && eta <= now() && UNSTARTED.has(state)) flags.push('overdue');
  if (isNowhere) flags.push('never_received');
  return flags;
}

const UNSTARTED: ReadonlySet<string> = new Set(['PENDING', 'RECEIVED', 'RETRY']);
