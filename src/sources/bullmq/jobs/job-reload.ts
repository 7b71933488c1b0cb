/** Brings jobs that were read some time ago up to date. */
import type { ReadOptions } from '../../../redis/reader.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import type { ReadCommands } from '../access/queue-reads.ts';
import { findJobs } from './find-jobs.ts';
import { readSmallJobs } from './job-content.ts';
import { FACT_NAMES, type JobFacts } from './job-facts.ts';
import { type KnownJob, knownJob } from './job-row.ts';
import { withPaused } from './paused-queues.ts';

/**
 * Reads jobs again, small ones with their texts, and finds the sets that they are in by now. A job that has been
 * removed is left out.
 */
export async function reloadJobs(
  access: QueueAccess,
  jobs: readonly KnownJob[],
  options: ReadOptions,
): Promise<readonly KnownJob[]> {
  const read: ReadCommands = (commands) => access.read(commands, options);
  const contents = await readSmallJobs(read, jobs);
  const moved: KnownJob[] = [];
  const reloaded = jobs.map((job, index) => {
    const content = contents[index] ?? null;
    if (content === null) return null;
    if (!mayHaveMoved(job, content.facts)) return knownJob(job, content);
    moved.push(job);
    return job;
  });
  const found = await findJobs(access, moved, false, options);
  const current = new Map(moved.map((job, index) => [job, found[index] ?? null]));
  const known = reloaded.flatMap((job) =>
    job === null ? [] : ((current.has(job) ? current.get(job) : job) ?? []),
  );
  return withPaused(read, known);
}

/**
 * Whether a job may be in another set than before. BullMQ changes one of the small fields when it moves a job, except
 * when it gives an active job back or wakes a parent.
 */
function mayHaveMoved({ set, facts }: KnownJob, now: JobFacts): boolean {
  if (set.part === 'active' || set.part === 'waiting-children') return true;
  return FACT_NAMES.some((name) => facts[name] !== now[name]);
}
