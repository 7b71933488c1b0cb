/** Reads BullMQ's data about schedule entries, and the jobs of their next runs. */

import { asNumber } from '../../../redis/replies.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import type { JobRef } from '../access/queue-reads.ts';
import { factsCommand, factsOf, type JobFacts } from '../jobs/job-facts.ts';
import { type JobValue, ROW_BOUNDS, readValues } from '../jobs/job-values.ts';
import { type EntryFacts, type EntryRef, entryCommand, entryOf, hashRef, runRef } from './schedule-entry.ts';

/** The run that is stored as the next one. It may have begun: BullMQ stores the one after it only then. */
export interface NotedRun {
  /** `null` when the job does not exist any more. */
  readonly job: JobFacts | null;
  readonly data: JobValue | undefined;
  /** The job's options, as JSON. */
  readonly options: JobValue | undefined;
}

/** An entry with its data. */
export interface KnownEntry {
  readonly ref: EntryRef;
  readonly facts: EntryFacts;
  /** Data for its jobs. */
  readonly template: JobValue | undefined;
  /** `null` when its job is unknown. */
  readonly run: NotedRun | null;
}

/** Loads entries, in their order. Those that have been removed since are left out. */
export async function loadEntries(
  access: QueueAccess,
  entries: readonly EntryRef[],
): Promise<readonly KnownEntry[]> {
  const known = await loadOnce(access, entries);
  // If a run has begun since the entry was found, the next one is stored by now.
  const begun = known.filter(({ run }) => run !== null && run.job?.processedAt !== null);
  const scores = await access.read(
    begun.map(({ ref: { queue, key } }) => ({
      queue,
      command: ['ZSCORE', queue.key('repeat'), key] as const,
    })),
  );
  const moved = begun.flatMap(({ ref }, index) => {
    const due = asNumber(scores[index]);
    return due === null || due === ref.due ? [] : [{ ...ref, due }];
  });
  if (moved.length === 0) return known;
  const again = new Map(
    (await loadOnce(access, moved)).map((entry) => [entry.ref.queue.key(entry.ref.key), entry]),
  );
  return known.map((entry) => again.get(entry.ref.queue.key(entry.ref.key)) ?? entry);
}

async function loadOnce(access: QueueAccess, entries: readonly EntryRef[]): Promise<readonly KnownEntry[]> {
  const hashes = await access.read(entries.map(entryCommand));
  const found = entries.flatMap((ref, index) => {
    const facts = entryOf(ref.key, hashes[index]);
    return facts === null ? [] : [{ ref, facts, job: runRef(ref, facts) }];
  });
  const [templates, runs] = await Promise.all([
    readValues(
      access,
      found.map(({ ref }) => ({ job: hashRef(ref), fields: ['data'] })),
      ROW_BOUNDS,
    ),
    loadRuns(
      access,
      found.flatMap(({ job }) => job ?? []),
    ),
  ]);
  return found.map(({ ref, facts, job }, index) => ({
    ref,
    facts,
    template: templates[index]?.data,
    run: job === null ? null : (runs.get(job) ?? null),
  }));
}

async function loadRuns(
  access: QueueAccess,
  jobs: readonly JobRef[],
): Promise<ReadonlyMap<JobRef, NotedRun>> {
  const [replies, values] = await Promise.all([
    access.read(jobs.map(({ queue, id }) => factsCommand(queue, id))),
    readValues(
      access,
      jobs.map((job) => ({ job, fields: ['data', 'opts'] })),
      ROW_BOUNDS,
    ),
  ]);
  return new Map(
    jobs.map((job, index) => [
      job,
      { job: factsOf(replies[index]), data: values[index]?.data, options: values[index]?.opts },
    ]),
  );
}
