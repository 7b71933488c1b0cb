/** Reads tasks from their packed records. */
import type { Task, TaskChangeEntry, TaskFlag, TaskTextField } from '../../model.ts';
import type { Folded } from '../merge/folded.ts';
import { inOrder } from '../merge/lifeline.ts';
import type { Records } from '../table/records.ts';
import { KIND, STATE_OF } from '../table/timeline.ts';
import type { Text } from '../table/values.ts';

/** The state of a task or of one of its changes. */
export function stateOf(records: Records, kind: number, custom: number): string {
  return kind === KIND.CUSTOM ? records.states.text(custom) : (STATE_OF[kind] as string);
}

/** What a search examines. */
export function readTexts(records: Records, slot: number): Task {
  return {
    id: records.ids[slot] as string,
    state: records.states.text(records.state[slot] as number),
    name: textOf(records.names, records.name[slot] as number),
    worker: textOf(records.workers, records.worker[slot] as number),
    queue: textOf(records.queues, records.queue[slot] as number),
    args: records.values.read(records.args[slot] ?? null).text,
    kwargs: records.values.read(records.kwargs[slot] ?? null).text,
  };
}

/** What statistics examine: everything that its changes decide. */
export function readChanges(records: Records, slot: number, folded: Folded): Task {
  return {
    id: records.ids[slot] as string,
    state: stateOf(records, folded.kind, folded.state),
    name: textOf(records.names, records.name[slot] as number),
    worker: textOf(records.workers, folded.worker),
    queue: textOf(records.queues, records.queue[slot] as number),
    sent: dateOf(folded.sent),
    received: dateOf(folded.received),
    started: dateOf(folded.started),
    finished: dateOf(folded.finished),
    timestamp: dateOf(folded.timestamp),
    runtime: Number.isNaN(folded.runtime) ? null : folded.runtime,
    retries: folded.retries < 0 ? null : folded.retries,
  };
}

/** The whole task. */
export function readTask(records: Records, slot: number, folded: Folded, flags: readonly TaskFlag[]): Task {
  const state = stateOf(records, folded.kind, folded.state);
  const extra = records.extras.get(slot);
  const cut: TaskTextField[] = extra === undefined ? [] : [...extra.cut];
  const read = (field: TaskTextField, text: Text | null): string | null => {
    const value = records.values.read(text);
    if (value.cut && !cut.includes(field)) cut.push(field);
    return value.text;
  };
  // A task that was retried and then succeeded shows no exception; its timeline has those of the attempts.
  const failed = state !== 'SUCCESS' && extra !== undefined;
  return {
    args: read('args', records.args[slot] ?? null),
    kwargs: read('kwargs', records.kwargs[slot] ?? null),
    result: state === 'SUCCESS' ? read('result', records.results[slot] ?? null) : null,
    exception: failed ? read('exception', extra.exception) : null,
    traceback: failed ? read('traceback', extra.traceback) : null,
    eta: extra?.eta == null ? null : new Date(extra.eta),
    expires: extra?.expires == null ? null : new Date(extra.expires),
    parentId: records.parents[slot] ?? null,
    rootId: records.roots[slot] ?? null,
    groupId: extra?.groupId ?? null,
    chordId: extra?.chordId ?? null,
    flags,
    truncated: cut,
    kind: extra?.kind ?? null,
    stamps: extra?.stamps?.value ?? null,
    // Last: spread first, with so many members behind it, V8 would make a hash table, at twenty times the cost.
    ...readChanges(records, slot, folded),
  };
}

/** The changes in the life of a task, oldest first. */
export function readTimeline(records: Records, folded: Folded): TaskChangeEntry[] {
  const { pool } = records;
  return inOrder(pool, folded).map((entry) => ({
    state: stateOf(records, pool.kind(entry), pool.state(entry)),
    timestamp: timeOf(records, entry, folded.finished),
    worker: textOf(records.workers, pool.worker(entry)),
    detail: pool.detail(entry),
  }));
}

/** A change that the backend reports without a time has that of its arrival, unless that cannot be right. */
function timeOf({ pool }: Records, entry: number, finished: number): Date | null {
  const at = pool.time(entry);
  if (pool.isDated(entry)) return new Date(at);
  return pool.isVague(entry) || at > finished ? null : new Date(at);
}

function dateOf(time: number): Date | null {
  return Number.isNaN(time) ? null : new Date(time);
}

function textOf(strings: Records['names'], string: number): string | null {
  return string === 0 ? null : strings.text(string);
}
