/** Reads the hashes of jobs: the small fields alone, or a small job whole. */
import { asFields } from '../../../redis/replies.ts';
import type { ReadCommands } from '../access/queue-reads.ts';
import { FACT_FIELDS, factsCommand, factsOf, type JobFacts, type SetEntry } from './job-facts.ts';
import { sizeCommand, sizeOf } from './job-size.ts';
import {
  ALWAYS_READ,
  batchesOf,
  type JobValues,
  ROW_BOUNDS,
  type ValueField,
  valuesOf,
} from './job-values.ts';

/** The data that was read from a job's hash. */
export interface JobContent {
  readonly facts: JobFacts;
  /** Its texts, in the length that a row shows; `null` when they have not been read. */
  readonly values: JobValues | null;
  /** What the job takes at most, in bytes; `null` when unknown. */
  readonly size: number | null;
}

/**
 * Reads the small fields.
 *
 * @returns `null` for a job that does not exist
 */
export async function readFacts(
  read: ReadCommands,
  jobs: readonly SetEntry[],
): Promise<readonly (JobContent | null)[]> {
  const replies = await read(jobs.map(({ queue, id }) => factsCommand(queue, id)));
  return replies.map((reply) => {
    const facts = factsOf(reply);
    return facts === null ? null : { facts, values: null, size: null };
  });
}

/**
 * Reads jobs that will most likely be shown: those that Redis says are small with their texts, of the others the
 * small fields. That takes two commands for a small job, whatever it has.
 *
 * @returns `null` for a job that does not exist
 */
export async function readSmallJobs(
  read: ReadCommands,
  jobs: readonly SetEntry[],
): Promise<readonly (JobContent | null)[]> {
  const sizes = (await read(jobs.map(sizeCommand))).map(sizeOf);
  const asked = jobs.map((job, index) => {
    const size = sizes[index] ?? null;
    return { job, size, fields: size === null || size > ALWAYS_READ ? [] : textsOf(job) };
  });
  const contents: (JobContent | null)[] = [];
  for (const batch of batchesOf(asked, ({ size, fields }) => (fields.length === 0 ? 0 : (size ?? 0)))) {
    const replies = await read(batch.map(({ job, fields }) => factsCommand(job.queue, job.id, fields)));
    for (const [index, { size, fields }] of batch.entries()) {
      const texts = asFields(replies[index]);
      const facts = factsOf(texts);
      const values =
        fields.length === 0 ? null : valuesOf(fields, texts.slice(FACT_FIELDS.length), ROW_BOUNDS.keep);
      contents.push(facts === null ? null : { facts, values, size });
    }
  }
  return contents;
}

/** The texts that a job of this set may show, whatever its state turns out to be. */
function textsOf({ set }: SetEntry): readonly ValueField[] {
  return set.part === 'completed'
    ? ['data', 'progress', 'returnvalue']
    : ['data', 'progress', 'failedReason', 'stacktrace'];
}
