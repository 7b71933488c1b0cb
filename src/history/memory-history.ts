/** A history in this process's memory. */
import { createFeed } from './answers/feed.ts';
import { summarize } from './answers/summary.ts';
import { createWorkerTable } from './answers/workers.ts';
import { childrenOf, workflowOf } from './answers/workflow.ts';
import type { History, HistoryIndex, HistoryPart, HistoryReader, HistoryWriter } from './history.ts';
import { createRecorder } from './merge/recorder.ts';
import { isName } from './names.ts';
import { type RetentionOptions, resolveRetention } from './retention.ts';
import { createTables } from './table/tables.ts';

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
export function createMemoryHistory(options: MemoryHistoryOptions = {}): History {
  const clock = options.now ?? Date.now;
  const retention = resolveRetention(options);
  let frozenAt: number | null = null;
  const shownNow = () => frozenAt ?? clock();
  const workers = createWorkerTable(shownNow, retention.maxWorkers, retention.workerExpiryMs);
  const tables = createTables(retention, clock, { now: shownNow, isLost: workers.isLost });
  const { records, index, keeper, rows, relations, list } = tables;
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

  const recorder = createRecorder({
    tables,
    workers,
    feed,
    counts,
    revisions,
    maxAgeMs: retention.maxAgeMs,
    clock,
    catchUp,
  });

  /** Asked for at every request, so it is found out once for each state of things. */
  function changesAt(part: HistoryPart): Date | null {
    if (part === 'events' || frozenAt !== null) return null;
    const state = revisions.tasks + revisions.workers;
    const known = moments[part];
    if (known.state === state && clock() < known.until) return known.at;
    let next = workers.nextChange();
    if (part === 'tasks') {
      index.catchUp();
      next = Math.min(next, index.etas.nextAfter(clock()));
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
    relations.clear();
    rows.clear();
    workers.clear();
    feed.clear();
  }

  const slotOf = (id: string): number | undefined => {
    catchUp();
    return records.slots.get(id);
  };

  const writer: HistoryWriter = {
    recordTask(change) {
      if (!isClosed) recorder.recordTask(change);
    },
    recordFacts(facts) {
      if (!isClosed) recorder.recordFacts(facts);
    },
    recordRelation(relation) {
      if (!isClosed) recorder.recordRelation(relation);
    },
    recordMissing(id, missing) {
      if (!isClosed) recorder.recordMissing(id, missing);
    },
    recordWorker(change) {
      if (isClosed) return;
      if (change.type !== 'reply') counts.received++;
      if (!isName(change.hostname)) {
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
  };

  const lookups: HistoryIndex = {
    stateOf(id) {
      const slot = records.slots.get(id);
      return slot === undefined ? null : rows.state(slot);
    },
    retriesOf(id) {
      const slot = records.slots.get(id);
      const retries = slot === undefined ? -1 : rows.retries(slot);
      return retries < 0 ? null : retries;
    },
    listOpen(limit) {
      catchUp();
      return tables.open.list(limit);
    },
    wouldKeep(time) {
      catchUp();
      return keeper.wouldKeep(time);
    },
    checkWorkers: () => workers.check(),
  };

  const reader: HistoryReader = {
    listTasks(query) {
      catchUp();
      return list.list(query);
    },
    getTask(id) {
      const slot = slotOf(id);
      if (slot === undefined) return null;
      return rows.detail(slot, childrenOf(id, tables));
    },
    getTaskTree(id) {
      const slot = slotOf(id);
      return slot === undefined ? null : workflowOf(slot, tables);
    },
    getTaskStats(query, context) {
      catchUp();
      return summarize(query, context, list, records, rows);
    },
    listWorkers: () => workers.list(),
    listEvents(query) {
      catchUp();
      return feed.list(query);
    },
    getStats() {
      catchUp();
      const lag = recorder.lag();
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
    listKnown: (ids) => new Set([...ids].filter((id) => records.slots.has(id))),
    freshness(part) {
      if (part === 'tasks' && keeper.isOverdue()) catchUp();
      return { revision: revisions[part], changesAt: changesAt(part) };
    },
  };

  return { writer, index: lookups, reader, close: closeIfOpen };
}
