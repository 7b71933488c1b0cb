import {
  callback,
  type KeysOf,
  type OptionPlace,
  type OptionTable,
  readOptions,
  refuseUnknownFields,
  sourceName,
  wrongOption,
} from '../../check-options.ts';
import type { History, HistoryReader, HistoryWriter, WorkerChange } from '../../history/history.ts';
import { withInstanceMarks } from '../../history/instance-marks.ts';
import { createMemoryHistory } from '../../history/memory-history.ts';
import { type RetentionOptions, retentionOption } from '../../history/retention.ts';
import type { HistoryStore } from '../../history/store.ts';
import {
  type HistorySources,
  historySources,
  refuseBareTexts,
  storeOption,
  withStoreComponent,
} from '../../history/store-parts.ts';
import { createStoredHistory } from '../../history/stored/create-stored-history.ts';
import type { StoredHistory } from '../../history/stored-history.ts';
import type { Schedule, WorkerHealthCheck } from '../../model.ts';
import { type RedactFunction, type RedactOptions, readSourceRedactor, redactSchedule } from '../../redact.ts';
import { markBundle } from '../../source/bundles.ts';
import type {
  Awaitable,
  ComponentSource,
  HealthSource,
  MonitorSources,
  ReadContext,
  ScheduleSource,
} from '../../source.ts';
import { type MemoryRecord, toTaskChange } from './memory-record.ts';

/** Options of `memorySources`. */
export interface MemorySourcesOptions {
  /** Name of the source in answers. 1 to 64 of `A-Z a-z 0-9 _ -`. Default `memory`. */
  readonly name?: string;
  /** What is kept; see each option for its default. */
  readonly retention?: RetentionOptions;
  /** Periodic schedules, or a function that reads them. Default: beat is not enabled. */
  readonly schedules?: readonly Schedule[] | (() => Awaitable<readonly Schedule[]>);
  /**
   * Which values are secrets: an object extends the built-in rules, a function replaces them. Each text is redacted
   * once, before it is first shown or searched. `false`: texts are kept and shown as they are. Default: the built-in
   * rules.
   */
  readonly redact?: RedactOptions | RedactFunction | false;
  /**
   * A database that keeps the history: `sqliteStore(path)` of `express-task-monitor/sqlite`, or
   * `postgresStore(client)` of `express-task-monitor/postgres`. It survives restarts, and all instances show the
   * tasks of all. Default: none; the history ends with the process.
   */
  readonly store?: HistoryStore;
  /** Called with each invalid record. Default: the first one causes a process warning. */
  readonly onError?: (error: TypeError) => void;
  /** Clock, milliseconds since 1970. Default `Date.now`. */
  readonly now?: () => number;
}

/** What a worker of the host's own queue reports about itself. */
export interface MemoryWorkerRecord extends Partial<Omit<WorkerChange, 'time'>> {
  readonly hostname: string;
  /** Default `heartbeat`. Record one every `interval` seconds, and `offline` when the worker ends. */
  readonly type?: WorkerChange['type'];
  /** Default: now. */
  readonly timestamp?: Date | number;
}

/** How many messages wait in a queue of the host's own. */
export interface MemoryQueueRecord {
  readonly queue: string;
  /** Tasks that a worker could take now. */
  readonly waiting: number;
  /** When the oldest of them became due. Milliseconds if a number. Default: not known. */
  readonly oldestDueAt?: Date | number | null;
}

/** Sources that keep what the host records. */
export interface MemorySources
  extends HistorySources,
    Pick<MonitorSources, 'schedules' | 'components' | 'redact'> {
  readonly health: HealthSource;
  /**
   * Records that a task was sent, started, ended and so on. Never throws, since monitoring must not make a queue fail.
   * A record that cannot be read is passed to `onError` and counted as dropped.
   */
  record(record: MemoryRecord): void;
  /** Records that a worker started, lives or ended. Never throws, like {@link MemorySources.record}. */
  recordWorker(record: MemoryWorkerRecord): void;
  /**
   * Records how many messages wait in a queue now; once a minute is enough. Never throws, like {@link
   * MemorySources.record}.
   */
  recordQueue(record: MemoryQueueRecord): void;
  /**
   * Frees the memory. Later records are ignored, and routers answer 503. With a store, the last records are written
   * first, and a promise is returned, which never rejects and resolves within about three seconds. Called when the last
   * router that shows these sources is closed.
   */
  close(): Awaitable<void>;
}

/**
 * Sources for a queue in this process: the host records what happens, and the routes read it.
 *
 * @example
 * const queue = memorySources();
 * app.use('/monitor', createMonitorRouter({ sources: queue }));
 * queue.record({ id: '1', state: 'STARTED', name: 'mail.send', args: ['ann@example.org'] });
 *
 * @throws TypeError for an unknown or wrong option
 */
export function memorySources(options: MemorySourcesOptions = {}): MemorySources {
  const resolved = resolveOptions(options);
  const { name, onError, now } = resolved;
  const { writer, reader, close, status, openNotes } = historyOf(resolved);

  function guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      writer.recordDropped(1);
      onError(error instanceof TypeError ? error : new TypeError('A record is invalid.'));
    }
  }

  const parts = historySources(name, reader, () => ({ ok: true, asOf: new Date(now()) }));
  const sources: MemorySources = {
    ...parts,
    tasks: withInstanceMarks(parts.tasks, reader.instance),
    ...schedulePart(resolved),
    ...(status === undefined ? {} : { components: componentsOf(name, status) }),
    ...(openNotes === undefined ? {} : { experimental: { ...parts.experimental, openNotes } }),
    health: { name, checkWorkers: (context) => checkWorkers(reader, context) },
    record: (record) => guarded(() => writer.recordTask(toTaskChange(record, now))),
    recordWorker: (record) => guarded(() => writer.recordWorker(toWorkerChange(record, now))),
    recordQueue: (record) => guarded(() => recordQueue(writer, record)),
    close,
  };
  return markBundle(sources, options.redact);
}

const CALLER = 'memorySources';

const TABLE = {
  name: sourceName('memory'),
  retention: retentionOption('{ maxTasks: 50_000 }'),
  schedules: readSchedules,
  redact: readSourceRedactor,
  store: storeOption,
  onError: callback<(error: TypeError) => void>('(error) => log(error)'),
  now: callback<() => number>('Date.now'),
} satisfies OptionTable<MemorySourcesOptions>;

/** {@link MemorySourcesOptions}, every one set. */
type ResolvedOptions = ReturnType<typeof resolveOptions>;

/** @throws TypeError that says what to write */
function resolveOptions(given: unknown) {
  const options = readOptions(CALLER, given, TABLE, { example: "{ name: 'jobs' }" });
  const { redact: redactor, onError, now } = options;
  refuseBareTexts(CALLER, options.store, redactor);
  return { ...options, redactor, onError: onError ?? warnOnce(), now: now ?? Date.now };
}

function readSchedules(
  given: unknown,
  { caller, option }: OptionPlace,
): (() => Awaitable<readonly Schedule[]>) | null {
  if (given === undefined || given === null) return null;
  if (typeof given === 'function') return given as () => Awaitable<readonly Schedule[]>;
  if (Array.isArray(given)) return () => given;
  throw wrongOption(caller, option, 'an array of schedules or a function that returns one', given);
}

function warnOnce(): (error: TypeError) => void {
  let warned = false;
  return (error) => {
    if (warned) return;
    warned = true;
    process.emitWarning(`${error.message} (further records like it are only counted)`, {
      type: 'ExpressTaskMonitorWarning',
      code: 'EXPRESS_TASK_MONITOR_RECORD',
    });
  };
}

/** Its `close` returns a promise if there is a store. */
function historyOf({ name, retention, redactor, now, store }: ResolvedOptions): OpenHistory {
  const memory = { ...retention, now, redactor, backdated: true };
  if (store === null) return createMemoryHistory(memory);
  return createStoredHistory(memory, {
    store,
    source: name,
    deployment: null,
    hearing: 'part',
    isReadOnly: false,
  });
}

type OpenHistory = Omit<History, 'close'> & { close(): Awaitable<void> } & Partial<
    Pick<StoredHistory, 'status' | 'openNotes'>
  >;

/** The store is the only part of this source that can be unreachable. */
function componentsOf(name: string, status: StoredHistory['status']): ComponentSource {
  return withStoreComponent({ name, listComponents: () => Promise.resolve([]) }, { status });
}

function schedulePart({ name, schedules, redactor }: ResolvedOptions): {
  schedules?: ScheduleSource;
} {
  if (schedules === null) return {};
  const listSchedules = async () => (await schedules()).map((schedule) => redactSchedule(schedule, redactor));
  return { schedules: { name, listSchedules } };
}

async function checkWorkers(reader: HistoryReader, context: ReadContext): Promise<WorkerHealthCheck> {
  if (reader.isClosed()) {
    return { ok: false, error: 'The source was closed.', responding: [], missing: [] };
  }
  const { responding, missing } = await reader.checkWorkers(context);
  // A queue without workers of its own has nothing to check.
  if (responding.length + missing.length === 0) return { ok: null, responding, missing };
  const ok = responding.length > 0;
  return { ok, error: ok ? null : 'No worker responds.', responding, missing };
}

function recordQueue(writer: HistoryWriter, record: MemoryQueueRecord): void {
  const fields: KeysOf<MemoryQueueRecord> = { queue: true, waiting: true, oldestDueAt: true };
  const otherNames = { name: 'queue', length: 'waiting', count: 'waiting' };
  refuseUnknownFields('recordQueue', record ?? {}, fields, otherNames);
  const { queue, waiting, oldestDueAt = null } = record ?? {};
  if (typeof queue !== 'string' || queue === '' || !Number.isSafeInteger(waiting) || waiting < 0) {
    throw new TypeError('recordQueue({ queue, waiting }) needs a name and a number, such as "mail" and 12.');
  }
  const dueAt = oldestDueAt === null ? null : Number(oldestDueAt);
  writer.recordQueue(queue, waiting, Number.isFinite(dueAt) ? dueAt : null);
}

// The compiler checks that every field is listed, so that none is rejected as unknown.
const WORKER_FIELDS: KeysOf<MemoryWorkerRecord> = {
  hostname: true,
  type: true,
  timestamp: true,
  interval: true,
  pid: true,
  active: true,
  processed: true,
  loadAverage: true,
  software: true,
  pool: true,
  poolSize: true,
  concurrency: true,
  registeredTasks: true,
  queues: true,
  uptimeSeconds: true,
  rateLimits: true,
};

function toWorkerChange(record: MemoryWorkerRecord, now: () => number): WorkerChange {
  refuseUnknownFields('recordWorker', record ?? {}, WORKER_FIELDS, {
    name: 'hostname',
    worker: 'hostname',
  });
  if (typeof record?.hostname !== 'string' || record.hostname === '') {
    throw new TypeError('recordWorker({ hostname }) needs the name of the worker, such as "mailer@host1".');
  }
  const { timestamp, type = 'heartbeat', ...facts } = record;
  return { ...facts, type, time: timestamp === undefined ? now() : Number(timestamp) };
}
