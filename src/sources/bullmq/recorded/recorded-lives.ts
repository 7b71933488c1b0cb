/**
 * Under which ids ended jobs are recorded. A job that is added anew under an id that was used before has a life of its
 * own: the first is recorded under its task id, each later one as `<task id>@<when it ended>`, with the task id as the
 * id of its group, by which it is found.
 */
import type { HistoryReader } from '../../../history/history.ts';
import { createLruCache, type LruCache } from '../../../lru-cache.ts';
import type { Task } from '../../../model.ts';
import { ALL_TASKS } from '../../../source/task-query.ts';
import type { ReadContext } from '../../../source.ts';

/** A job that has ended. Times in milliseconds since 1970. */
export interface EndedJob {
  readonly taskId: string;
  readonly endedAt: number;
  /** By the job's own clock; `null`: not known. */
  readonly addedAt: number | null;
  /** The event that it was added was seen since its id last ended. */
  readonly isAdded: boolean;
}

/** The latest recorded end of an id. */
interface Life {
  readonly id: string;
  readonly endedAt: number | null;
  readonly addedAt: number | null;
}

/** Finds the ids under which jobs are recorded. */
export interface RecordedLives {
  /**
   * Ids of ended jobs, in their order: the oldest end of an id first. While the store cannot be read, an id that somebody
   * has chosen counts as used before.
   */
  idsOf(ended: readonly EndedJob[], context: ReadContext): Promise<readonly string[]>;
}

const MOST_LIVES = 10_000;
/** Numbers that BullMQ counts up are used once, unless a queue is obliterated. */
const COUNTED = /:\d+$/;

export function createRecordedLives(
  reader: Pick<HistoryReader, 'listKnown' | 'listTasks' | 'getTask'>,
): RecordedLives {
  const latest: LruCache<Life> = createLruCache({ entries: MOST_LIVES });
  return {
    async idsOf(ended, context) {
      await lookUp(reader, latest, ended, context);
      return ended.map((job) => {
        const life = latest.get(job.taskId);
        const id = life === undefined ? job.taskId : isSame(life, job) ? life.id : laterId(job);
        latest.set(job.taskId, { id, endedAt: job.endedAt, addedAt: job.addedAt });
        return id;
      });
    },
  };
}

/** The latest recorded life of a task id; `null`: there is none but the first. */
export async function latestLife(
  reader: Pick<HistoryReader, 'listTasks'>,
  taskId: string,
  context: ReadContext,
): Promise<Task | null> {
  const { tasks } = await reader.listTasks({ ...ALL_TASKS, groupId: taskId, limit: 1, scan: 1_000 }, context);
  return tasks[0] ?? null;
}

function laterId({ taskId, endedAt }: EndedJob): string {
  return `${taskId}@${endedAt}`;
}

/** The same end again, or another end of a job that was run again by hand. */
function isSame(life: Life, { endedAt, addedAt, isAdded }: EndedJob): boolean {
  return life.endedAt === endedAt || (!isAdded && addedAt !== null && life.addedAt === addedAt);
}

async function lookUp(
  reader: Pick<HistoryReader, 'listKnown' | 'listTasks' | 'getTask'>,
  latest: LruCache<Life>,
  ended: readonly EndedJob[],
  context: ReadContext,
): Promise<void> {
  const ids = [...new Set(ended.map(({ taskId }) => taskId))].filter((id) => latest.get(id) === undefined);
  if (ids.length === 0) return;
  try {
    const known = await reader.listKnown(ids, context);
    await Promise.all(
      ids.map(async (id) => {
        if (!known.has(id)) return;
        const task = (await latestLife(reader, id, context)) ?? (await reader.getTask(id, context));
        if (task !== null) latest.set(id, lifeOf(task));
      }),
    );
  } catch {
    // Nothing of what an id had before may be mixed with this job.
    for (const id of ids) {
      if (!COUNTED.test(id)) latest.set(id, { id, endedAt: null, addedAt: null });
    }
  }
}

function lifeOf({ id, finished, timestamp, sent }: Task): Life {
  return { id, endedAt: (finished ?? timestamp)?.getTime() ?? null, addedAt: sent?.getTime() ?? null };
}
