import type { ReadOptions } from '../../../redis/reader.ts';
import { asText } from '../../../redis/replies.ts';
import { scheduler } from '../../../scheduler.ts';
import {
  type CallerFigures,
  countCallers,
  type FamilyCollector,
  type SentTask,
  UNKNOWN_CALLERS,
} from '../../../select/callers.ts';
import type { TaskStatsQuery } from '../../../source.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import { splitTaskId } from '../access/queue-ref.ts';
import { JOB_SETS, setsOf } from '../jobs/job-sets.ts';

/** Most parents whose names are read, and how many at once. */
const MOST_PARENTS = 5_000;
const BATCH = 500;

/**
 * Parents and children of jobs, by name. Children are those that were seen: they end before their parent does, most of
 * them in the same window.
 *
 * @param jobs those that are summed up
 * @param seen the jobs of the window that were read
 * @param isWhole whether that is all of it
 */
export async function readCallers(
  access: QueueAccess,
  { filter }: TaskStatsQuery,
  jobs: readonly SentTask[],
  seen: FamilyCollector,
  isWhole: boolean,
  options: ReadOptions,
): Promise<CallerFigures> {
  const parents = new Set(jobs.flatMap(({ parentId }) => parentId ?? []));
  const unseen = [...parents].filter((id) => !seen.has(id));
  if (unseen.length > MOST_PARENTS) return UNKNOWN_CALLERS;
  await readNames(access, unseen, seen, options);
  const figures = await scheduler.run('stats', countCallers(jobs, seen));
  // For only some queues or states, not all children are read.
  const isComplete = isWhole && filter.queues.length === 0 && setsOf(filter).length === JOB_SETS.length;
  return isComplete ? figures : { ...figures, callees: null };
}

async function readNames(
  access: QueueAccess,
  ids: readonly string[],
  names: FamilyCollector,
  options: ReadOptions,
): Promise<void> {
  const queues = new Map((await access.queues(options)).map((queue) => [queue.name, queue]));
  for (let at = 0; at < ids.length; at += BATCH) {
    const jobs = ids.slice(at, at + BATCH).flatMap((taskId) => {
      const parts = splitTaskId(taskId);
      const queue = queues.get(parts?.queue ?? '');
      return parts === null || queue === undefined ? [] : { taskId, queue, id: parts.jobId };
    });
    const replies = await access.read(
      jobs.map(({ queue, id }) => ({ queue, command: ['HGET', queue.key(id), 'name'] })),
      options,
    );
    for (const [index, { taskId }] of jobs.entries())
      names.note({ id: taskId, name: asText(replies[index]) });
  }
}
