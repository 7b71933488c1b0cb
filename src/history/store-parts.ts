/** The component that shows how the store of a history is doing. */
import { flag, type Read, wrongOption } from '../check-options.ts';
import type { Component } from '../model.ts';
import type {
  ComponentSource,
  ExperimentalSource,
  HistorySource,
  SourceStatus,
  TaskEventSource,
  TaskSource,
  WorkerSource,
} from '../source.ts';
import { isRecord } from '../values.ts';
import type { HistoryPart, HistoryReader } from './history.ts';
import type { StoreEngine } from './store.ts';
import type { StoredHistory, StoreStatus } from './stored-history.ts';

/** Key of the component within its source. */
export const STORE_COMPONENT = 'history.store';

/** Adds the store of a source to its components. */
export function withStoreComponent(
  part: ComponentSource,
  history: Pick<StoredHistory, 'status'>,
): ComponentSource {
  return {
    ...part,
    async listComponents(context) {
      const components = await part.listComponents(context);
      return [...components, storeComponent(history.status(), Date.now())];
    },
  };
}

/** @param now milliseconds since 1970 */
export function storeComponent(status: StoreStatus, now: number): Component {
  const {
    engine,
    phase,
    isHolder,
    waiting,
    waitingSince,
    lastWrite,
    error,
    code,
    lost,
    lostAt,
    bytes,
    unreadable,
  } = status;
  const hint = hintFor(status);
  return {
    key: STORE_COMPONENT,
    name: 'History store',
    enabled: true,
    status: error !== null ? 'down' : phase === 'opening' ? 'unknown' : 'up',
    config: {
      engine,
      phase,
      // The instance that collects and writes for the source; the others only answer.
      is_holder: isHolder,
      waiting,
      delay_seconds: waitingSince === null ? 0 : Math.max(0, Math.floor((now - waitingSince) / 1_000)),
      last_write: timeOf(lastWrite),
      bytes,
      lost,
      lost_at: timeOf(lostAt),
      unreadable,
      error,
      code,
      hints: hint === null ? [] : [hint],
    },
    redacted: true,
  };
}

function timeOf(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}

/** @returns a sentence that says what to do; `null`: nothing is wrong, or unknown */
function hintFor({ error, remedy, lost, areClocksApart, unreadable }: StoreStatus): string | null {
  if (error !== null) return remedy;
  if (areClocksApart) {
    return 'The clocks of this process and of the database differ by more than a day: set them. Nothing old is deleted until they agree.';
  }
  if (lost === 0) {
    if (unreadable === 0) return null;
    return 'Another version or another program has written some of the stored tasks: they are left out. They go after retention.taskDays days, or with the tables.';
  }
  return 'More changes arrived than the store could write: use a faster database, or raise retention.maxTasks.';
}

const SQLITE = "sqliteStore('monitor.db') of express-task-monitor/sqlite";
const POSTGRES = 'postgresStore(pool) of express-task-monitor/postgres';

/** The option `store` of a source; `null` without one. */
export const storeOption: Read<StoreEngine | null> = (given, { caller, option }) => {
  if (given === undefined || given === null) return null;
  if (isStore(given)) return given;
  throw wrongOption(caller, option, expectedFor(given), given);
};

/**
 * A source must redact what it writes.
 *
 * @throws TypeError that says what to write
 */
export function refuseBareTexts(caller: string, store: StoreEngine | null, redactor: unknown): void {
  if (store === null || redactor !== null) return;
  throw new TypeError(
    `${caller}: texts are redacted before they are written to a 'store'. Remove redact: false, or write ` +
      'redact: (text) => text to store them as they are.',
  );
}

/**
 * Whether an instance may take the lease of its store. Default: true, unless the store is read-only.
 *
 * @throws TypeError that says what to write
 */
export function readCollect(caller: string, given: unknown, store: StoreEngine | null): boolean {
  const collect = flag(store?.isReadOnly !== true)(given, { caller, option: 'collect' });
  if (!collect && store === null) {
    throw new TypeError(
      `${caller}: collect: false needs a store that all instances share. Write store: postgresStore(pool), or remove 'collect'.`,
    );
  }
  if (collect && store?.isReadOnly === true) {
    throw new TypeError(
      `${caller}: collect: true needs a store that may be written. Remove readOnly of the store, or write collect: false.`,
    );
  }
  return collect;
}

/** Entries have their own copies of the library: a store is recognized by its members. */
function isStore(value: unknown): value is StoreEngine {
  return isRecord(value) && typeof value.engine === 'string' && typeof value.open === 'function';
}

function expectedFor(value: unknown): string {
  if (typeof value === 'string') return /^postgres(?:ql)?:/i.test(value) ? POSTGRES : SQLITE;
  const isClient =
    ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
    ('query' in value || 'unsafe' in value);
  return isClient ? POSTGRES : `${SQLITE}, or ${POSTGRES}`;
}

/** The parts of a source that a history answers. */
export interface HistorySources {
  readonly tasks: TaskSource & Required<Pick<TaskSource, 'getTaskTree' | 'getTaskStats'>>;
  readonly workers: WorkerSource;
  readonly events: TaskEventSource;
  readonly history: HistorySource;
  readonly experimental: ExperimentalSource & Required<Pick<ExperimentalSource, 'getActivity'>>;
}

/** Everything that was shown before is gone. */
const CLOSED: SourceStatus = { ok: false, asOf: null, error: 'source_unavailable' };

/**
 * Makes the parts of a source from a history.
 *
 * @param name name of the source
 * @param reader answers every read
 * @param connection whether the source is connected, and up to when the history is complete. Default: always
 *   connected, complete up to now.
 */
export function historySources(
  name: string,
  reader: HistoryReader,
  connection?: () => Pick<SourceStatus, 'ok' | 'asOf' | 'error'>,
): HistorySources {
  const statusNow = connection ?? (() => ({ ok: true, asOf: new Date() }));
  const status = (part: HistoryPart) => (): SourceStatus =>
    reader.isClosed() ? CLOSED : { ...statusNow(), ...reader.freshness(part) };
  return {
    tasks: {
      name,
      knowsConditions: true,
      status: status('tasks'),
      listTasks: (query, context) => reader.listTasks(query, context),
      getTask: (id, context) => reader.getTask(id, context),
      getTaskTree: (id, context) => reader.getTaskTree(id, context),
      getTaskStats: (query, context) => reader.getTaskStats(query, context),
    },
    workers: { name, status: status('workers'), listWorkers: (context) => reader.listWorkers(context) },
    events: {
      name,
      status: status('events'),
      listEvents: (query, context) => reader.listEvents(query, context),
    },
    history: { name, getHistoryStats: (context) => reader.getStats(context) },
    experimental: {
      name,
      status: status('tasks'),
      getActivity: (context) => reader.getActivity(context),
    },
  };
}
