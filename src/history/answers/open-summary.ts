/** Sums up the tasks that have not ended, however many: one pass over all of them, in steps. */
import { isDone, TASK_STATES } from '../../model.ts';
import type { Steps } from '../../scheduler.ts';
import type { OpenTaskSummary, RunningTask, TaskGroup } from '../../source.ts';
import type { TaskIndex } from '../index/task-index.ts';
import { readLife } from '../table/record-table.ts';
import { isMissing, type Records } from '../table/records.ts';
import type { FlagContext } from './rows.ts';
import { visitSlots } from './task-list.ts';

/** Most running tasks that are listed. */
const MOST_RUNNING = 2_000;
/** For how long a missing task is reported: nothing else ends that, if it was purged on purpose. */
const MISSING_MS = 60 * 60_000;
/** Maximum number of ids listed for a group. */
const MOST_EXAMPLES = 3;

/** What is summed up. The indexes must be up to date. */
export interface OpenSummaryContext {
  readonly records: Records;
  readonly index: TaskIndex;
  readonly flags: FlagContext;
  /** When it was noticed that a task is missing; `null`: unknown. */
  readonly missedAt: (slot: number) => number | null;
  /** Whether a worker is heard. */
  readonly isOnline: (hostname: string) => boolean;
}

interface Group {
  count: number;
  since: number | null;
  readonly states: Set<string>;
  readonly examples: string[];
}

interface Sums {
  readonly context: OpenSummaryContext;
  readonly now: number;
  readonly running: RunningTask[];
  /** Of the state that is visited now. */
  runningOfState: number;
  isWhole: boolean;
  /** By the number of the worker, and of the queue; 0: tasks of no known queue. */
  readonly lost: Map<number, Group>;
  readonly waiting: Map<number, Group>;
  readonly overdue: Group;
  readonly missing: Group;
}

/** Visits the tasks of each state, in the order in which they changed. */
export function* summarizeOpen(context: OpenSummaryContext): Steps<OpenTaskSummary> {
  const { records, index, flags } = context;
  const sums: Sums = {
    context,
    now: flags.now(),
    running: [],
    runningOfState: 0,
    isWhole: true,
    lost: new Map(),
    waiting: new Map(),
    overdue: newGroup(),
    missing: newGroup(),
  };
  for (const state of records.states.all()) {
    const slots = isDone(state) ? null : index.columns.state.list(records.states.find(state));
    if (slots === null) continue;
    const visit = visitorOf(sums, state);
    sums.runningOfState = 0;
    const number = records.states.find(state);
    yield* visitSlots({ records, isSearch: false }, slots.copy(null, null), (slot) => {
      // It may have changed while the work paused.
      if (records.state[slot] === number) visit(slot);
    });
  }
  return resultOf(sums);
}

const KNOWN_STATES: ReadonlySet<string> = new Set(TASK_STATES);

function visitorOf(sums: Sums, state: string): (slot: number) => void {
  if (state === 'PENDING') return (slot) => visitPending(sums, slot);
  if (state === 'RETRY') return (slot) => visitRetry(sums, slot);
  const isRunning = state === 'STARTED' || !KNOWN_STATES.has(state);
  return (slot) => {
    if (isMissing(sums.context.records, slot)) return;
    addLost(sums, slot, state);
    if (isRunning) addRunning(sums, slot, state);
    else addOverdue(sums, slot, state);
  };
}

function visitPending(sums: Sums, slot: number): void {
  const { records } = sums.context;
  const time = records.timestamp[slot] as number;
  if (isMissing(records, slot)) {
    if (!(sums.now - (sums.context.missedAt(slot) ?? time) >= MISSING_MS))
      add(sums, sums.missing, slot, time);
    return;
  }
  addOverdue(sums, slot, 'PENDING');
  // A task known only from its queue has waited at least since it was found there.
  const since = Number.isNaN(time) ? (records.entries.times[records.heads[slot] as number] as number) : time;
  const due = Math.max(since, etaOf(records, slot) ?? since);
  if (due > sums.now) return;
  add(sums, groupOf(sums.waiting, records.queue[slot] as number), slot, due);
}

/** A worker may have the next attempt of a task, which then waits there for its eta. */
function visitRetry(sums: Sums, slot: number): void {
  if (isMissing(sums.context.records, slot)) return;
  const life = readLife(sums.context.records, slot);
  if (life.isHeld) addLost(sums, slot, 'RETRY');
  if (life.isOpened) addOverdue(sums, slot, 'RETRY');
}

function addOverdue(sums: Sums, slot: number, state: string): void {
  const eta = etaOf(sums.context.records, slot);
  if (eta === null || eta > sums.now) return;
  add(sums, sums.overdue, slot, eta);
  sums.overdue.states.add(state);
}

function addLost(sums: Sums, slot: number, state: string): void {
  const { records, flags } = sums.context;
  const worker = records.worker[slot] as number;
  const time = records.timestamp[slot] as number;
  // A change since the worker's process began is a sign that it has the task.
  if (worker === 0 || !flags.isLost(records.workers.text(worker), time)) return;
  const group = groupOf(sums.lost, worker);
  add(sums, group, slot, time);
  group.states.add(state);
}

function addRunning(sums: Sums, slot: number, state: string): void {
  const { records } = sums.context;
  if (++sums.runningOfState > MOST_RUNNING) {
    sums.isWhole = false;
    return;
  }
  // A start that was only read counts from when it was read: the task has run for that long at least.
  const started = state === 'STARTED' ? (records.timestamp[slot] as number) : readLife(records, slot).started;
  if (started === null) return;
  const [name, worker] = [records.name[slot] as number, records.worker[slot] as number];
  sums.running.push({
    id: records.ids[slot] as string,
    name: name === 0 ? null : records.names.text(name),
    worker: worker === 0 ? null : records.workers.text(worker),
    startedAt: started,
    ...(state !== 'STARTED' && { state }),
  });
}

function etaOf({ extras }: Records, slot: number): number | null {
  return extras.get(slot)?.eta ?? null;
}

function newGroup(): Group {
  return { count: 0, since: null, states: new Set(), examples: [] };
}

function groupOf(groups: Map<number, Group>, number: number): Group {
  let group = groups.get(number);
  if (group === undefined) {
    group = newGroup();
    groups.set(number, group);
  }
  return group;
}

/** @param since NaN: not known */
function add({ context }: Sums, group: Group, slot: number, since: number): void {
  group.count++;
  if (group.examples.length < MOST_EXAMPLES) group.examples.push(context.records.ids[slot] as string);
  if (!Number.isNaN(since) && (group.since === null || since < group.since)) group.since = since;
}

function resultOf({ context, running, isWhole, lost, waiting, overdue, missing }: Sums): OpenTaskSummary {
  const { records, isOnline } = context;
  const listed = running.sort((a, b) => a.startedAt - b.startedAt);
  return {
    running: listed.slice(0, MOST_RUNNING),
    isWhole: isWhole && listed.length <= MOST_RUNNING,
    lost: [...lost].map(([number, group]) => {
      const worker = records.workers.text(number);
      return { ...plain(group), worker, isWorkerOnline: isOnline(worker) };
    }),
    overdue: overdue.count === 0 ? null : plain(overdue),
    missing: missing.count === 0 ? null : plain(missing, ['PENDING']),
    waiting: [...waiting].flatMap(([number, group]) =>
      number === 0 ? [] : [{ ...plain(group, ['PENDING']), queue: records.queues.text(number) }],
    ),
  };
}

function plain(group: Group, states: readonly string[] = [...group.states]): TaskGroup {
  return { count: group.count, since: group.since, states, examples: group.examples };
}
