import type { WorkerChange } from '../../history/history.ts';
import { type HistorySources, historySources } from '../../history/history-sources.ts';
import { createMemoryHistory } from '../../history/memory-history.ts';
import type { RetentionOptions } from '../../history/retention.ts';
import type { Schedule } from '../../model.ts';
import type { Awaitable, HealthSource, MonitorSources } from '../../source.ts';
import { resolveMemoryOptions } from './memory-options.ts';
import { type MemoryRecord, toTaskChange } from './memory-record.ts';

/** Options of {@link memorySources}. */
export interface MemorySourcesOptions {
  /** Name of the source in answers. 1 to 64 of `A-Z a-z 0-9 _ -`. Default `memory`. */
  readonly name?: string;
  /** What is kept; see each option for its default. */
  readonly retention?: RetentionOptions;
  /** Periodic schedules, or a function that reads them. Default: beat is not enabled. */
  readonly schedules?: readonly Schedule[] | (() => Awaitable<readonly Schedule[]>);
  /** Called with each record that cannot be read. Default: the first one is a process warning. */
  readonly onError?: (error: TypeError) => void;
  /** Clock, milliseconds since 1970. Default `Date.now`. */
  readonly now?: () => number;
}

/** What a worker of the host's own queue says of itself. */
export interface MemoryWorkerRecord extends Partial<Omit<WorkerChange, 'time'>> {
  readonly hostname: string;
  /** Default `heartbeat`. Say one every `interval` seconds, `offline` when the worker ends. */
  readonly type?: WorkerChange['type'];
  /** Default: now. */
  readonly timestamp?: Date | number;
}

/** Sources that hold what the host records. */
export interface MemorySources extends HistorySources, Pick<MonitorSources, 'schedules'> {
  readonly health: HealthSource;
  /**
   * Records that a task was sent, started, ended … Never throws: a queue must not fail because it is
   * watched. A record that cannot be read goes to `onError` and is counted as dropped.
   */
  record(record: MemoryRecord): void;
  /** Records that a worker came, lives or went. */
  recordWorker(record: MemoryWorkerRecord): void;
  /** Frees what is held. Later records are ignored. Called by the router's `close()`. */
  close(): void;
}

/**
 * Sources for a queue in this process: the host records what happens, the routes read it back.
 *
 * @example
 * const queue = memorySources();
 * app.use('/monitor', createMonitorRouter({ sources: queue }));
 * queue.record({ id: '1', state: 'STARTED', name: 'mail.send', args: ['ann@example.org'] });
 *
 * @throws TypeError for an unknown or wrong option
 */
export function memorySources(options: MemorySourcesOptions = {}): MemorySources {
  const { name, retention, schedules, onError, now } = resolveMemoryOptions(options);
  const history = createMemoryHistory({ ...retention, now });

  function guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      history.writer.recordDropped(1);
      onError(error instanceof TypeError ? error : new TypeError('A record cannot be read.'));
    }
  }

  return {
    ...historySources(name, history.reader, () => ({ ok: true, asOf: new Date(now()) })),
    ...(schedules === null ? {} : { schedules: { name, listSchedules: schedules } }),
    health: {
      name,
      async checkWorkers(context) {
        const { responding, missing } = await history.reader.checkWorkers(context);
        const known = responding.length + missing.length > 0;
        // A queue without workers of its own has nothing to check.
        if (!known) return { ok: null, responding, missing };
        const ok = responding.length > 0;
        return { ok, error: ok ? null : 'No worker responds.', responding, missing };
      },
    },
    record: (record) => guarded(() => history.writer.recordTask(toTaskChange(record, now))),
    recordWorker: (record) =>
      guarded(() => {
        if (typeof record?.hostname !== 'string' || record.hostname === '') {
          throw new TypeError(
            'recordWorker({ hostname }) needs the name of the worker, such as "mailer@host1".',
          );
        }
        const { timestamp, type = 'heartbeat', ...facts } = record;
        history.writer.recordWorker({
          ...facts,
          type,
          time: timestamp === undefined ? now() : Number(timestamp),
        });
      }),
    close: () => history.close(),
  };
}
