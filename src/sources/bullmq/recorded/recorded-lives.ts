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
}

/** A recorded end of an id. */
interface Life {
  readonly id: string;
  readonly endedAt: number | null;
  readonly addedAt: number | null;
}

/** The first and the latest of them: those between are recognized by the time of their end, which is in their ids. */
interface Lives {
  readonly first: Life;
  readonly latest: Life;
}

/** Under which id an end of a job is recorded. */
export interface RecordedEnd {
  readonly id: string;
  /** It has been recorded before, by an instance that ended before it could publish how far it had come. */
  readonly isKnown: boolean;
}

/**
 * Finds the ids of ended jobs, in their order: the oldest end of an id first. While the store cannot be read, an id chosen
 * by the app counts as used before.
 */
export type FindLives = (ended: readonly EndedJob[], context: ReadContext) => Promise<readonly RecordedEnd[]>;

type LivesReader = Pick<HistoryReader, 'listKnown' | 'listTasks' | 'getTask'>;

const MOST_LIVES = 10_000;
/** Recorded ends that are read at once. */
const AT_ONCE = 8;
/** Numbers that BullMQ counts up are used once, unless a queue is obliterated. */
const COUNTED = /:\d+$/;

export function createRecordedLives(reader: LivesReader): FindLives {
  const lives: LruCache<Lives> = createLruCache({ entries: MOST_LIVES });
  return async (ended, context) => {
    await lookUp(reader, lives, ended, context);
    return ended.map((job) => {
      const { taskId, endedAt, addedAt } = job;
      const known = lives.get(taskId);
      const same = known === undefined ? null : sameLife(known, job);
      const id = same?.id ?? (known === undefined ? taskId : `${taskId}@${endedAt}`);
      const latest = { id, endedAt, addedAt };
      lives.set(taskId, { first: known === undefined || id === taskId ? latest : known.first, latest });
      return { id, isKnown: same?.endedAt === endedAt };
    });
  };
}

/** The latest recorded life of a task id; `null`: there is only the first. */
export async function latestLife(
  reader: Pick<HistoryReader, 'listTasks'>,
  taskId: string,
  context: ReadContext,
): Promise<Task | null> {
  const { tasks } = await reader.listTasks({ ...ALL_TASKS, groupId: taskId, limit: 1, scan: 1_000 }, context);
  return tasks[0] ?? null;
}

/** The same end again, or another end of a job that was run again by hand. */
function sameLife({ first, latest }: Lives, { endedAt, addedAt }: EndedJob): Life | null {
  const isSame = (life: Life): boolean =>
    life.endedAt === endedAt || (addedAt !== null && life.addedAt === addedAt);
  return [latest, first].find(isSame) ?? null;
}

async function lookUp(
  reader: LivesReader,
  lives: LruCache<Lives>,
  ended: readonly EndedJob[],
  context: ReadContext,
): Promise<void> {
  const jobs = new Map(ended.map((job) => [job.taskId, job]));
  for (const id of jobs.keys()) if (lives.get(id) !== undefined) jobs.delete(id);
  if (jobs.size === 0) return;
  try {
    const known = await reader.listKnown([...jobs.keys()], context);
    for (const id of jobs.keys()) if (!known.has(id)) jobs.delete(id);
    const all = [...jobs.values()];
    for (let at = 0; at < all.length; at += AT_ONCE) {
      const found = all.slice(at, at + AT_ONCE).map(async (job) => {
        const recorded = await readLives(reader, job, context);
        if (recorded !== null) lives.set(job.taskId, recorded);
        jobs.delete(job.taskId);
      });
      await Promise.all(found);
    }
  } catch {
    // Data of an earlier job with this id may not be mixed with this job.
    for (const id of jobs.keys()) {
      if (!COUNTED.test(id)) lives.set(id, { first: unknownLife(id), latest: unknownLife(id) });
    }
  }
}

/** @returns `null`: it has not been recorded */
async function readLives(reader: LivesReader, job: EndedJob, context: ReadContext): Promise<Lives | null> {
  const task = await reader.getTask(job.taskId, context);
  if (task === null) return null;
  const first = lifeOf(task);
  // Most ends that are known are read again because the instance before could not publish how far it had come.
  if (sameLife({ first, latest: first }, job) !== null) return { first, latest: first };
  const later = await latestLife(reader, job.taskId, context);
  return { first, latest: later === null ? first : lifeOf(later) };
}

function unknownLife(id: string): Life {
  return { id, endedAt: null, addedAt: null };
}

function lifeOf({ id, finished, timestamp, sent }: Task): Life {
  return { id, endedAt: (finished ?? timestamp)?.getTime() ?? null, addedAt: sent?.getTime() ?? null };
}
