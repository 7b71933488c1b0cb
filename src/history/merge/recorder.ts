/** Takes in what is told of tasks. */
import { FEED_TYPES, type Feed } from '../feed/feed.ts';
import type { HistoryWriter, TaskChange, TaskFacts } from '../history.ts';
import { isName } from '../names.ts';
import { FACT } from '../table/records.ts';
import type { Tables } from '../table/tables.ts';
import { KIND, STATE_OF } from '../table/timeline.ts';
import type { WorkerTable } from '../workers/worker-table.ts';
import type { Placed } from './intake.ts';

/** Where what is told of tasks goes. */
export interface RecorderContext {
  readonly tables: Tables;
  readonly workers: WorkerTable;
  readonly feed: Feed;
  readonly counts: { received: number; dropped: number };
  readonly revisions: { tasks: number; workers: number; events: number };
  readonly maxAgeMs: number;
  /** Milliseconds. */
  clock(): number;
  /** Lets the indexes catch up, and drops what is too much. */
  catchUp(): void;
}

/** The part of a history that takes in what is told of tasks. */
export type Recorder = Pick<
  HistoryWriter,
  'recordTask' | 'recordFacts' | 'recordRelation' | 'recordMissing'
> & {
  /** Milliseconds between the newest change at its sender and its arrival; `null` when none came. */
  lag(): number | null;
};

/** @param context is changed by what is told */
export function createRecorder(context: RecorderContext): Recorder {
  const { tables, workers, feed, counts, revisions, clock } = context;
  const { records, rows, index, relations, lineage, open } = tables;
  let lag: number | null = null;
  let newestTime = Number.NEGATIVE_INFINITY;

  /** What was read may be older than anything that is kept. */
  function isTooOld({ time, heardAt }: TaskChange, arrivedAt: number): boolean {
    return (time ?? heardAt ?? arrivedAt) < arrivedAt - context.maxAgeMs;
  }

  function hear(change: TaskChange, arrivedAt: number): void {
    if (isName(change.worker) && workers.sign(change.worker, arrivedAt)) {
      revisions.workers++;
      revisions.tasks++;
    }
    if (typeof change.time === 'number' && change.time > newestTime) {
      newestTime = change.time;
      lag = Math.max(0, arrivedAt - change.time);
    }
  }

  /** What was read is no sign of life of a worker; the worker of an open task must be known to get lost. */
  function mention(change: TaskChange, { isNew, kind }: Placed): void {
    if (!isNew || kind >= KIND.REVOKED || !isName(change.worker)) return;
    if (workers.mention(change.worker)) revisions.workers++;
  }

  function publish(slot: number, change: TaskChange, placed: Placed, name: number, arrivedAt: number): void {
    revisions.events++;
    // The texts that are held anyway, not the message's own copies of them.
    feed.add(
      {
        type: change.eventType ?? (FEED_TYPES[change.type] as string),
        task: name === 0 ? null : records.names.text(name),
        taskId: records.ids[slot] as string,
        state:
          placed.kind === KIND.CUSTOM ? records.states.text(placed.state) : (STATE_OF[placed.kind] as string),
        worker: placed.worker === 0 ? null : records.workers.text(placed.worker),
        time: placed.time,
        detail: change.detail ?? change.exception ?? null,
      },
      arrivedAt,
    );
  }

  function fill(slot: number, facts: TaskFacts): void {
    if (!tables.fillFacts(slot, facts)) return;
    rows.forget(slot);
    revisions.tasks++;
  }

  /** Whether the messages of the task itself tell that relation. */
  function isToldBy(slot: number, relation: string, other: string): boolean {
    if (relation === 'child') return records.parents[slot] === other;
    const facts = records.facts[slot] as number;
    const more = records.extras.get(slot);
    if (relation === 'group') return (facts & FACT.GROUP_TOLD) !== 0 && more?.groupId === other;
    return relation === 'chord' && (facts & FACT.CHORD_TOLD) !== 0 && more?.chordId === other;
  }

  /** The id as the table of tasks holds it: it is stored once. */
  const shared = (slot: number | undefined, id: string): string =>
    slot === undefined ? id : (records.ids[slot] as string);

  /** Whatever is told of a task says that it is somewhere. */
  function found(slot: number): void {
    const facts = records.facts[slot] as number;
    if ((facts & FACT.MISSING) === 0) return;
    records.facts[slot] = facts & ~FACT.MISSING;
    rows.forget(slot);
    revisions.tasks++;
  }

  return {
    lag: () => lag,
    recordTask(change) {
      const isStored = change.stored === true;
      if (!isStored) counts.received++;
      const { id } = change;
      if (!isName(id)) {
        counts.dropped++;
        return;
      }
      const arrivedAt = clock();
      let slot = records.slots.get(id);
      if (slot === undefined) {
        if (isStored && isTooOld(change, arrivedAt)) return;
        slot = records.allocate(id);
        if (relations.has(id)) lineage.place(slot);
      } else found(slot);
      const placed = tables.place(slot, change, arrivedAt);
      if (isStored) mention(change, placed);
      else hear(change, arrivedAt);
      if (!placed.isNew) {
        if (placed.isMore) {
          index.touch(slot);
          revisions.tasks++;
        } else if (records.waiting[slot] === 0) rows.forget(slot);
        open.lookedAt(slot, arrivedAt);
        // A queue tells more of a message than who sent it.
        if (isStored) fill(slot, change);
        // Read before and now heard.
        if (placed.isNews) publish(slot, change, placed, records.name[slot] as number, arrivedAt);
      } else {
        const pending = index.touch(slot);
        tables.takeFacts(slot, change, placed, pending);
        open.heardOf(slot, arrivedAt);
        revisions.tasks++;
        if (placed.isNews) publish(slot, change, placed, pending.name, arrivedAt);
      }
      if (index.isFull()) context.catchUp();
    },
    recordFacts(facts) {
      const slot = isName(facts.id) ? records.slots.get(facts.id) : undefined;
      if (slot === undefined) return;
      found(slot);
      open.lookedAt(slot, clock());
      fill(slot, facts);
      if (index.isFull()) context.catchUp();
    },
    recordRelation({ parent, child, relation }) {
      if (!isName(parent) || !isName(child) || !isName(relation) || parent === child) return;
      const from = relation === 'group' ? undefined : records.slots.get(parent);
      const to = records.slots.get(child);
      const slot = relation === 'chord' ? from : to;
      if (slot !== undefined && isToldBy(slot, relation, relation === 'chord' ? child : parent)) return;
      if (!relations.add(shared(from, parent), shared(to, child), relation)) return;
      if (slot !== undefined) {
        lineage.place(slot);
        rows.forget(slot);
      }
      revisions.tasks++;
    },
    recordMissing(id, missing) {
      const slot = isName(id) ? records.slots.get(id) : undefined;
      if (slot === undefined) return;
      open.lookedAt(slot, clock());
      if (!missing || rows.state(slot) !== 'PENDING') {
        found(slot);
        return;
      }
      const facts = records.facts[slot] as number;
      if ((facts & FACT.MISSING) !== 0) return;
      records.facts[slot] = facts | FACT.MISSING;
      rows.forget(slot);
      revisions.tasks++;
    },
  };
}
