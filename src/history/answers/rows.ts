/** Makes tasks of records. An unchanged task is handed out as the same object, so that its JSON can be kept. */
import type { Task, TaskChangeEntry, TaskDetail, TaskFlag, TaskTextField } from '../../model.ts';
import { isDone } from '../../model.ts';
import type { Folded } from '../merge/folded.ts';
import { inOrder } from '../merge/lifeline.ts';
import { FACT, type Records } from '../table/records.ts';
import { KIND, STATE_OF } from '../table/timeline.ts';
import type { Text } from '../table/values.ts';

/** Most tasks kept as objects: those of the largest graph, and some pages. Only what is asked for becomes one. */
const MAX_ROWS = 24_000;

/** Tasks as objects. */
export interface Rows {
  get(slot: number): Task;
  /** The state alone, also of a task whose indexes are behind. */
  state(slot: number): string;
  /** The number of the attempt, 0 for the first; −1 when it is unknown. */
  retries(slot: number): number;
  /** What a search looks at. */
  brief(slot: number): Task;
  /** What statistics look at. */
  figures(slot: number): Task;
  detail(slot: number, children: readonly string[]): TaskDetail;
  /** The task has changed. */
  forget(slot: number): void;
  clear(): void;
}

/** What flags depend on beside the task. */
export interface FlagContext {
  /** Milliseconds; stands still while the source is cut off. */
  now(): number;
  /** Whether a task that this worker took at that moment is lost. */
  isLost(hostname: string, since: number): boolean;
}

/** @param fold folds one slot */
export function createRows(records: Records, fold: (slot: number) => Folded, context: FlagContext): Rows {
  const rows = new Map<number, Task>();
  const flagsOf = new Map<number, string>();

  const time = (value: number): Date | null => (Number.isNaN(value) ? null : new Date(value));
  const named = (labels: Records['names'], label: number): string | null =>
    label === 0 ? null : labels.text(label);

  function stateOf(kind: number, custom: number): string {
    return kind === KIND.CUSTOM ? records.states.text(custom) : (STATE_OF[kind] as string);
  }

  /** @param since when its worker took it, at the latest; NaN: unknown */
  function flags(slot: number, state: string, since: number): readonly TaskFlag[] {
    if (isDone(state) || state === 'RETRY') return [];
    const found: TaskFlag[] = [];
    const worker = named(records.workers, records.worker[slot] as number);
    if (worker !== null && state !== 'PENDING' && context.isLost(worker, since)) found.push('worker_lost');
    const eta = records.extras.get(slot)?.eta;
    if (eta != null && eta <= context.now() && (state === 'PENDING' || state === 'RECEIVED')) {
      found.push('overdue');
    }
    if (state === 'PENDING' && ((records.facts[slot] as number) & FACT.MISSING) !== 0) {
      found.push('never_received');
    }
    return found;
  }

  /** What the task's changes tell. */
  function told(slot: number, folded: Folded): Task {
    return {
      id: records.ids[slot] as string,
      state: stateOf(folded.kind, folded.state),
      name: named(records.names, records.name[slot] as number),
      worker: named(records.workers, folded.worker),
      queue: named(records.queues, records.queue[slot] as number),
      sent: time(folded.sent),
      received: time(folded.received),
      started: time(folded.started),
      finished: time(folded.finished),
      timestamp: time(folded.timestamp),
      runtime: Number.isNaN(folded.runtime) ? null : folded.runtime,
      retries: folded.retries < 0 ? null : folded.retries,
    };
  }

  function make(slot: number): Task {
    const folded = fold(slot);
    const state = stateOf(folded.kind, folded.state);
    const more = records.extras.get(slot);
    const cut: TaskTextField[] = more === undefined ? [] : [...more.cut];
    const read = (field: TaskTextField, text: Text | null): string | null => {
      const value = records.values.read(text);
      if (value.cut && !cut.includes(field)) cut.push(field);
      return value.text;
    };
    // A task that was retried and then succeeded has no exception: the timeline tells of the attempts.
    const failed = state !== 'SUCCESS' && more !== undefined;
    return {
      args: read('args', records.args[slot] ?? null),
      kwargs: read('kwargs', records.kwargs[slot] ?? null),
      result: state === 'SUCCESS' ? read('result', records.results[slot] ?? null) : null,
      exception: failed ? read('exception', more.exception) : null,
      traceback: failed ? read('traceback', more.traceback) : null,
      eta: more?.eta == null ? null : new Date(more.eta),
      expires: more?.expires == null ? null : new Date(more.expires),
      parentId: records.parents[slot] ?? null,
      rootId: records.roots[slot] ?? null,
      groupId: more?.groupId ?? null,
      chordId: more?.chordId ?? null,
      flags: flags(slot, state, Number.isNaN(folded.received) ? folded.timestamp : folded.received),
      truncated: cut,
      kind: more?.kind ?? null,
      stamps: more?.stamps?.value ?? null,
      // Last: in front, so many members behind it make V8 keep a hash table, at twenty times the cost.
      ...told(slot, folded),
    };
  }

  function get(slot: number): Task {
    const known = rows.get(slot);
    if (known !== undefined) {
      if (isDone(known.state)) return known;
      const since = known.received ?? known.timestamp;
      const now = flags(slot, known.state, since?.getTime() ?? Number.NaN).join();
      if (now === flagsOf.get(slot)) return known;
    }
    // Frozen: whoever keeps its JSON can rely on it.
    const row = Object.freeze(make(slot));
    if (rows.size >= MAX_ROWS) {
      rows.clear();
      flagsOf.clear();
    }
    rows.set(slot, row);
    flagsOf.set(slot, row.flags?.join() ?? '');
    return row;
  }

  /** What the backend tells without a time has that of its arrival, unless that cannot be right. */
  function timeOf(entry: number, finished: number): Date | null {
    const at = records.pool.time(entry);
    if (records.pool.isDated(entry)) return new Date(at);
    return records.pool.isVague(entry) || at > finished ? null : new Date(at);
  }

  function timeline(slot: number): TaskChangeEntry[] {
    const folded = fold(slot);
    return inOrder(records.pool, folded).map((entry) => ({
      state: stateOf(records.pool.kind(entry), records.pool.state(entry)),
      timestamp: timeOf(entry, folded.finished),
      worker: named(records.workers, records.pool.worker(entry)),
      detail: records.pool.detail(entry),
    }));
  }

  function brief(slot: number): Task {
    return {
      id: records.ids[slot] as string,
      state: records.states.text(records.state[slot] as number),
      name: named(records.names, records.name[slot] as number),
      worker: named(records.workers, records.worker[slot] as number),
      queue: named(records.queues, records.queue[slot] as number),
      args: records.values.read(records.args[slot] ?? null).text,
      kwargs: records.values.read(records.kwargs[slot] ?? null).text,
    };
  }

  return {
    get,
    state(slot) {
      if (records.waiting[slot] === 0) return records.states.text(records.state[slot] as number);
      const { kind, state } = fold(slot);
      return stateOf(kind, state);
    },
    retries: (slot) => fold(slot).retries,
    brief,
    figures: (slot) => told(slot, fold(slot)),
    detail: (slot, children) => ({ ...get(slot), children, timeline: timeline(slot) }),
    forget(slot) {
      if (rows.size > 0) rows.delete(slot);
    },
    clear() {
      rows.clear();
      flagsOf.clear();
    },
  };
}
