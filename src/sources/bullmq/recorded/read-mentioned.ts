/** Reads the jobs that events mention, as long as they are in Redis. */
import type { ReadOptions } from '../../../redis/reader.ts';
import { asFields, asNumber } from '../../../redis/replies.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import { type JobRef, taskIdOf } from '../access/queue-ref.ts';
import { jobIdOf, mayReturn } from '../events/event-item.ts';
import { lockCommand } from '../events/job-runs.ts';
import { factsCommand, factsOf } from '../jobs/job-facts.ts';
import { rootsOf } from '../jobs/job-family.ts';
import { ALWAYS_READ, readValues, type ValueBounds, type ValueField } from '../jobs/job-values.ts';
import type { JobReading } from './followed-job.ts';
import type { StreamNews } from './stream-news.ts';

/** A job to read. */
export interface MentionedJob extends JobRef {
  readonly taskId: string;
  /** Its data and options have not been read. */
  readonly isNew: boolean;
  /** One of its runs has failed. */
  readonly hasFailed: boolean;
}

/** For larger texts, only the lengths are read. */
const BOUNDS: ValueBounds = { keep: ALWAYS_READ, largest: ALWAYS_READ, budget: 0 };

/**
 * Reads jobs: one command for each, two more for the texts of one that is new or has failed, and one for each parent
 * that is not among them.
 *
 * @returns by task id; `null` for a job that is gone
 */
export async function readMentioned(
  access: QueueAccess,
  jobs: readonly MentionedJob[],
  options: ReadOptions,
): Promise<ReadonlyMap<string, JobReading | null>> {
  const replies = await access.read(
    jobs.map(({ queue, id }) => factsCommand(queue, id, ['ats'])),
    options,
  );
  const known = jobs.flatMap((job, index) => {
    const facts = factsOf(replies[index]);
    return facts === null ? [] : [{ ...job, facts, begun: asNumber(asFields(replies[index]).at(-1)) }];
  });
  const [values, roots] = await Promise.all([
    readValues(
      access,
      known.map((job) => ({ job, fields: fieldsOf(job) })),
      BOUNDS,
      options,
    ),
    rootsOf(access, known, options),
  ]);
  const readings = new Map<string, JobReading | null>(jobs.map(({ taskId }) => [taskId, null]));
  for (const [index, job] of known.entries()) {
    const { taskId, facts, begun } = job;
    readings.set(taskId, {
      facts,
      values: values[index] ?? {},
      parentId: facts.parentKey === null ? null : access.taskIdOfKey(facts.parentKey),
      rootId: roots.get(job) ?? null,
      begun,
    });
  }
  return readings;
}

/**
 * Reads whether the jobs are locked that a worker may have given back, by task id: one command for each.
 *
 * @param hasRun whether a job was on a worker before these entries
 */
export async function readHeld(
  access: QueueAccess,
  news: readonly StreamNews[],
  hasRun: (taskId: string) => boolean,
  options: ReadOptions,
): Promise<ReadonlyMap<string, boolean>> {
  const jobs = new Map<string, JobRef>();
  const active = new Set<string>();
  for (const { queue, entries } of news) {
    for (const entry of entries) {
      const id = jobIdOf(entry);
      const taskId = id === null ? '' : taskIdOf(queue.name, id);
      if (entry.fields.get('event') === 'active') active.add(taskId);
      // A job is delayed when it is added, too.
      else if (id !== null && mayReturn(entry) && (active.has(taskId) || hasRun(taskId)))
        jobs.set(taskId, { queue, id });
    }
  }
  const replies = await access.read(
    [...jobs.values()].map(({ queue, id }) => lockCommand(queue, id)),
    options,
  );
  return new Map([...jobs.keys()].map((taskId, index) => [taskId, replies[index] === 1]));
}

function fieldsOf({ isNew, hasFailed }: MentionedJob): readonly ValueField[] {
  return [
    ...(isNew ? (['data', 'opts', 'progress'] as const) : []),
    ...(hasFailed ? (['failedReason', 'stacktrace'] as const) : []),
  ];
}
