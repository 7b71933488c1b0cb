/** Reads the jobs that events mention, as long as they are in Redis. */
import type { ReadOptions } from '../../../redis/reader.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import type { JobRef } from '../access/queue-ref.ts';
import { factsCommand, factsOf } from '../jobs/job-facts.ts';
import { rootsOf } from '../jobs/job-family.ts';
import { ALWAYS_READ, readValues, type ValueBounds, type ValueField } from '../jobs/job-values.ts';
import type { JobReading } from './followed-job.ts';

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
    jobs.map(({ queue, id }) => factsCommand(queue, id)),
    options,
  );
  const known = jobs.flatMap((job, index) => {
    const facts = factsOf(replies[index]);
    return facts === null ? [] : [{ ...job, facts }];
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
    const { taskId, facts } = job;
    readings.set(taskId, {
      facts,
      values: values[index] ?? {},
      parentId: facts.parentKey === null ? null : access.taskIdOfKey(facts.parentKey),
      rootId: roots.get(job) ?? null,
    });
  }
  return readings;
}

function fieldsOf({ isNew, hasFailed }: MentionedJob): readonly ValueField[] {
  return [
    ...(isNew ? (['data', 'opts', 'progress'] as const) : []),
    ...(hasFailed ? (['failedReason', 'stacktrace'] as const) : []),
  ];
}
