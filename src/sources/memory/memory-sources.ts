import { type KeysOf, refuseUnknownFields } from '../../check-options.ts';
import type { History, HistoryReader, HistoryWriter, WorkerChange } from '../../history/history.ts';
import { withInstanceMarks } from '../../history/instance-marks.ts';
import { createMemoryHistory } from '../../history/memory-history.ts';
import { type HistorySources, historySources, withStoreComponent } from '../../history/store-parts.ts';
import { createStoredHistory } from '../../history/stored/create-stored-history.ts';
import type { StoredHistory } from '../../history/stored-history.ts';
import type { WorkerHealthCheck } from '../../model.ts';
import { redactSchedule } from '../../redact.ts';
import { markBundle } from '../../source/bundle-mark.ts';
import type {
  Awaitable,
  ComponentSource,
  HealthSource,
  MonitorSources,
  ReadContext,
  ScheduleSource,
} from '../../source.ts';
import {
  type MemorySourcesOptions,
  type ResolvedMemoryOptions,
  resolveMemoryOptions,
} from './memory-options.ts';
import { type MemoryRecord, toTaskChange } from './memory-record.ts';

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
export interface MemorySources extends HistorySources, Pick<MonitorSources, 'schedules' | 'components'> {
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
  const resolved = resolveMemoryOptions(options);
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
  return markBundle({
    ...parts,
    tasks: withInstanceMarks(parts.tasks, reader.instance),
    ...schedulePart(resolved),
    ...(status === undefined ? {} : { components: componentsOf(name, status) }),
    ...(openNotes === undefined ? {} : { history: { ...parts.history, openNotes } }),
    health: { name, checkWorkers: (context) => checkWorkers(reader, context) },
    record: (record) => guarded(() => writer.recordTask(toTaskChange(record, now))),
    recordWorker: (record) => guarded(() => writer.recordWorker(toWorkerChange(record, now))),
    recordQueue: (record) => guarded(() => recordQueue(writer, record)),
    close,
  });
}

/** Its `close` returns a promise if there is a store. */
function historyOf({ name, retention, redactor, now, store }: ResolvedMemoryOptions): OpenHistory {
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

function schedulePart({ name, schedules, redactor }: ResolvedMemoryOptions): {
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
  refuseUnknownFields('recordQueue', record ?? {}, ['queue', 'waiting', 'oldestDueAt'], {
    name: 'queue',
    length: 'waiting',
    count: 'waiting',
  });
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
};

function toWorkerChange(record: MemoryWorkerRecord, now: () => number): WorkerChange {
  refuseUnknownFields('recordWorker', record ?? {}, Object.keys(WORKER_FIELDS), {
    name: 'hostname',
    worker: 'hostname',
  });
  if (typeof record?.hostname !== 'string' || record.hostname === '') {
    throw new TypeError('recordWorker({ hostname }) needs the name of the worker, such as "mailer@host1".');
  }
  const { timestamp, type = 'heartbeat', ...facts } = record;
  return { ...facts, type, time: timestamp === undefined ? now() : Number(timestamp) };
}
