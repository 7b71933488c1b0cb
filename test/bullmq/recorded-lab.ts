/** Queues whose jobs are recorded, without a database. */
import type { Job, Queue } from 'bullmq';
import { createMemoryHistory } from '../../src/history/memory-history.ts';
import type { StoredHistory } from '../../src/history/stored-history.ts';
import type { Task } from '../../src/model.ts';
import type { TaskPage, TaskPosition, TaskQuery, TaskSource } from '../../src/source.ts';
import { resolveOptions } from '../../src/sources/bullmq/access/options.ts';
import { createQueueAccess, type QueueAccess } from '../../src/sources/bullmq/access/queue-access.ts';
import { bullmqSources } from '../../src/sources/bullmq/bullmq-sources.ts';
import { createJobRecorder, type JobRecorder } from '../../src/sources/bullmq/recorded/job-recorder.ts';
import { withRemoved } from '../../src/sources/bullmq/recorded/with-removed.ts';
import { createKeptSince } from '../../src/sources/bullmq/tasks/kept-since.ts';
import { context } from '../helpers/bullmq-read.ts';
import { until } from '../helpers/redis-server.ts';
import { queryOf } from '../helpers/task-query.ts';

/** A stored history without a store. */
export interface HeldHistory extends StoredHistory {
  /** Whether this instance holds the lease. */
  isHeld: boolean;
  /** Messages that may have been missed were reported. */
  gaps: number;
}

/** @param texts what instances share */
export function heldHistory(texts = new Map<string, string>()): HeldHistory {
  const history = createMemoryHistory();
  const held: HeldHistory = {
    ...history,
    writer: {
      ...history.writer,
      recordGap() {
        held.gaps += 1;
      },
    },
    log: { append: async () => {}, newest: async () => null, read: async () => [] },
    readStats: (query, context, ofTasks) => ofTasks(query, context, null),
    isHeld: true,
    gaps: 0,
    texts: {
      publish: (kind, text) => void texts.set(kind, text),
      read: (kind) => texts.get(kind) ?? null,
      revision: () => 0,
    },
    status: () => ({
      ...{ engine: 'sqlite', phase: 'ready', isHolder: held.isHeld, waiting: 0, waitingSince: null },
      ...{ lastWrite: null, error: null, code: null, remedy: null, lost: 0, lostAt: null, bytes: null },
    }),
    isHolder: () => held.isHeld,
    hasOthers: () => false,
    wantLease() {},
    openNotes: () => ({
      isHolder: () => held.isHeld,
      read: async () => null,
      write: async () => {},
      close() {},
    }),
    onLease: () => () => {},
    setHearing: async () => {},
    close: async () => history.close(),
  };
  return held;
}

const PACE = { busyMs: 20, idleMs: 20 };

/** Notes the keys of jobs whose data is read. */
function notingData(access: QueueAccess, keys: Set<string>): QueueAccess {
  return {
    ...access,
    async read(list, options) {
      const replies = await access.read(list, options);
      for (const [index, { command }] of list.entries()) {
        const reply: unknown = replies[index];
        const isData = command[0] === 'HMGET' && command.includes('data');
        if (isData && Array.isArray(reply) && reply.some((value) => value !== null))
          keys.add(String(command[1]));
      }
      return replies;
    },
  };
}

/** Queues of one instance. */
export interface RecordedQueues {
  readonly tasks: TaskSource;
  readonly history: HeldHistory;
  /** Resolves once so many jobs have been recorded. */
  recorded(count: number): Promise<void>;
  /** Resolves once the data of these jobs has been read. */
  read(...jobs: readonly Job[]): Promise<void>;
  page(query?: Partial<TaskQuery>): Promise<TaskPage>;
  /** All rows, page after page. */
  walk(query?: Partial<TaskQuery>): Promise<readonly Task[]>;
  /** Begins to record, if it has not yet. */
  start(): void;
  close(): Promise<void>;
}

/** @param isStarted whether to record from the beginning. Default: true */
export function recordQueues(
  queues: readonly Queue[],
  history: HeldHistory = heldHistory(),
  isStarted = true,
): RecordedQueues {
  const dataRead = new Set<string>();
  const access = notingData(createQueueAccess(resolveOptions({ queues })), dataRead);
  const live = bullmqSources({ queues });
  const tasks = withRemoved(live.tasks, { access, keptSince: createKeptSince(access, () => []) }, history);
  let recorder: JobRecorder | null = isStarted ? createJobRecorder(access, history, PACE) : null;
  const page = async (query: Partial<TaskQuery> = {}): Promise<TaskPage> =>
    tasks.listTasks(queryOf(query), context);
  return {
    tasks,
    history,
    recorded: (count) => until(async () => (await history.reader.getStats(context)).tasks === count, 20_000),
    read: (...jobs) =>
      until(
        () => jobs.every(({ queueQualifiedName, id }) => dataRead.has(`${queueQualifiedName}:${id}`)),
        10_000,
      ),
    page,
    async walk(query = {}) {
      const rows: Task[] = [];
      let after: TaskPosition | null = null;
      do {
        const part: TaskPage = await page({ ...query, after });
        rows.push(...part.tasks);
        after = part.next && (JSON.parse(JSON.stringify(part.next)) as TaskPosition);
      } while (after !== null);
      return rows;
    },
    start() {
      recorder ??= createJobRecorder(access, history, PACE);
    },
    async close() {
      await recorder?.close();
      live.close();
    },
  };
}
