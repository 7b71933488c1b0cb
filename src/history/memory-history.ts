/** A history in this process's memory. */
import { createFacts } from './facts.ts';
import { createFeed, FEED_TYPES } from './feed.ts';
import { createSlotFold } from './fold-slot.ts';
import { createIntake } from './intake.ts';
import { createKeeper } from './keeper.ts';
import { createRecords } from './records.ts';
import { resolveRetention } from './retention.ts';
import { createRows } from './rows.ts';
import { summarize } from './summary.ts';
import type { HistoryPart, RetentionOptions, TaskChange, TaskHistory } from './task-history.ts';
import { createTaskIndex } from './task-index.ts';
import { createTaskList } from './task-list.ts';
import { KIND, STATE_OF } from './timeline.ts';
import { createWorkerTable } from './workers.ts';
import { workflowOf } from './workflow.ts';

/** The longest id that a client can ask for. */
const MAX_ID_LENGTH = 512;
const TICK_MS = 10_000;

/** Options of {@link createMemoryHistory}. */
export interface MemoryHistoryOptions extends RetentionOptions {
  /** Milliseconds since 1970. Default `Date.now`. */
  readonly now?: () => number;
}

/**
 * A history in memory, of one process. What it holds is lost when the process ends.
 *
 * @throws TypeError for an option out of its bounds
 */
export function createMemoryHistory(options: MemoryHistoryOptions = {}): TaskHistory {
  const clock = options.now ?? Date.now;
  const retention = resolveRetention(options);
  const records = createRecords(retention.maxValueBytes, retention.maxValueLength);
  const fold = createSlotFold(records);
  let frozenAt: number | null = null;
  const shownNow = () => frozenAt ?? clock();
  const workers = createWorkerTable(shownNow, retention.maxWorkers, retention.workerExpiryMs);
  const rows = createRows(records, fold, { now: shownNow, isLost: workers.isLost });
  const keeper = createKeeper(records, () => index, retention, clock, rows.forget);
  const index = createTaskIndex(records, fold, clock, (slot) => {
    rows.forget(slot);
    keeper.heardOf(slot);
  });
  const place = createIntake(records);
  const takeFacts = createFacts(records, index);
  const tasks = createTaskList(records, index, rows, fold);
  const nameOf = (id: string): string | null => {
    const slot = records.slots.get(id);
    if (slot === undefined) return null;
    const label = records.name[slot] as number;
    return label === 0 ? null : records.names.text(label);
  };
  const feed = createFeed(retention.maxEvents, clock, nameOf);
  const startedAt = clock();
  const counts = { evicted: 0, received: 0, dropped: 0 };
  const revisions = { tasks: 0, workers: 0, events: 0 };
  const unknown = { state: -1, until: 0, at: null as Date | null };
  const moments = { tasks: unknown, workers: unknown };
  let lag: number | null = null;
  let newestTime = Number.NEGATIVE_INFINITY;
  let isClosed = false;

  // Ages out what nobody reads; reading does the same at once.
  const timer = setInterval(catchUp, TICK_MS);
  timer.unref();

  function catchUp(): void {
    index.catchUp();
    const evicted = keeper.evict();
    counts.evicted += evicted;
    revisions.tasks += evicted;
  }

  function recordTask(change: TaskChange): void {
    if (isClosed) return;
    counts.received++;
    const { id } = change;
    if (typeof id !== 'string' || id === '' || id.length > MAX_ID_LENGTH) {
      counts.dropped++;
      return;
    }
    const slot = records.slots.get(id) ?? records.allocate(id);
    const arrivedAt = clock();
    const placed = place(slot, change, arrivedAt);
    if (typeof change.worker === 'string' && workers.sign(change.worker, arrivedAt)) {
      revisions.workers++;
      revisions.tasks++;
    }
    if (typeof change.time === 'number' && change.time > newestTime) {
      newestTime = change.time;
      lag = Math.max(0, arrivedAt - change.time);
    }
    if (!placed.isNew) {
      // Told before; yet a backend that tells the same change may know more of the task.
      if (change.origin === 'result') revisions.tasks++;
      if (records.waiting[slot] === 0) rows.forget(slot);
      return;
    }
    const pending = index.touch(slot);
    takeFacts(slot, change, placed, pending);
    revisions.tasks++;
    if (placed.isNews) {
      revisions.events++;
      // The texts that are held anyway, not the message's own copies of them.
      feed.add(
        {
          type: change.eventType ?? (FEED_TYPES[change.type] as string),
          task: pending.name === 0 ? null : records.names.text(pending.name),
          taskId: records.ids[slot] as string,
          state:
            placed.kind === KIND.CUSTOM
              ? records.states.text(placed.state)
              : (STATE_OF[placed.kind] as string),
          worker: placed.worker === 0 ? null : records.workers.text(placed.worker),
          time: placed.time,
          detail: change.detail ?? change.exception ?? null,
        },
        arrivedAt,
      );
    }
    if (index.isFull()) catchUp();
  }

  /** Asked for at every request, so it is found out once for each state of things. */
  function changesAt(part: HistoryPart): Date | null {
    if (part === 'events' || frozenAt !== null) return null;
    const state = revisions.tasks + revisions.workers;
    const known = moments[part];
    if (known.state === state && clock() < known.until) return known.at;
    let next = workers.nextChange();
    if (part === 'tasks') {
      index.catchUp();
      const due = index.etas.walk('asc', { key: clock(), compare: () => -1 });
      if (due.slot !== -1 && due.key < next) next = due.key;
    }
    const at = Number.isFinite(next) ? new Date(next) : null;
    moments[part] = { state, until: next, at };
    return at;
  }

  function closeIfOpen(): void {
    if (isClosed) return;
    isClosed = true;
    clearInterval(timer);
    index.catchUp();
    keeper.clear();
    rows.clear();
    workers.clear();
    feed.clear();
  }

  const slotOf = (id: string): number | undefined => {
    catchUp();
    return records.slots.get(id);
  };

  return {
    recordTask,
    recordWorker(change) {
      if (isClosed) return;
      counts.received++;
      if (typeof change.hostname !== 'string' || change.hostname === '') {
        counts.dropped++;
        return;
      }
      const { isNews, isChanged } = workers.record(change);
      revisions.workers++;
      // Tasks of a worker that came back or went may gain or lose a flag.
      if (isNews || isChanged) revisions.tasks++;
      if (!isNews) return;
      revisions.events++;
      feed.add(
        {
          type: `worker-${change.type}`,
          task: null,
          taskId: null,
          state: null,
          worker: change.hostname,
          time: change.time,
          detail: null,
        },
        clock(),
      );
    },
    recordDropped(count) {
      counts.dropped += count;
    },
    recordGap() {
      feed.markGap();
      revisions.events++;
    },
    freezeAt(moment) {
      // Nobody could be heard meanwhile: that was no silence of theirs.
      if (moment === null && frozenAt !== null) workers.excuse(clock() - frozenAt);
      frozenAt = moment === null ? null : moment.getTime();
      revisions.tasks++;
      revisions.workers++;
    },
    listTasks(query) {
      catchUp();
      return tasks.list(query);
    },
    getTask(id) {
      const slot = slotOf(id);
      if (slot === undefined) return null;
      const children = index.byParent.list(id).map((child) => records.ids[child] as string);
      return rows.detail(slot, children);
    },
    getTaskTree(id) {
      const slot = slotOf(id);
      return slot === undefined ? null : workflowOf(slot, records, index, rows.get);
    },
    getTaskStats(query, context) {
      catchUp();
      return summarize(query, context, tasks, records, rows);
    },
    listWorkers: () => workers.list(),
    listEvents(query) {
      catchUp();
      return feed.list(query);
    },
    getStats() {
      catchUp();
      return {
        tasks: records.slots.size,
        workers: workers.size,
        events: feed.size,
        since: new Date(startedAt),
        evicted: counts.evicted,
        bytes: keeper.bytes(),
        eventsReceived: counts.received,
        dropped: counts.dropped,
        lagSeconds: lag === null ? null : lag / 1000,
      };
    },
    checkWorkers: () => workers.check(),
    revision(part) {
      if (part === 'tasks' && keeper.isOverdue()) catchUp();
      return revisions[part];
    },
    changesAt,
    close: closeIfOpen,
  };
}
