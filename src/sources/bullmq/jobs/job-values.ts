/**
 * The large fields of jobs: data, options, return value, reason of failure, stack traces. Redis cannot return
 * part of a field, so lengths are read first, values follow in batches of bounded size, and a value that is
 * too large is shown as its length.
 */

import type { ReadOptions } from '../../../redis/reader.ts';
import { asCount, asFields } from '../../../redis/replies.ts';
import type { QueueAccess, QueueCommand } from '../access/queue-access.ts';
import type { JobRef } from '../access/queue-ref.ts';

/** A large field. */
export type ValueField = 'data' | 'opts' | 'returnvalue' | 'failedReason' | 'stacktrace';

/** A value as far as it was read. */
export interface JobValue {
  /** Its beginning; for one that is too large to be read, `<n bytes>`. */
  readonly text: string;
  readonly isCut: boolean;
}

/** Values of one job. What it does not have is absent. */
export type JobValues = Partial<Record<ValueField, JobValue>>;

/** Which values of a job to read. */
export interface ValueRequest {
  readonly job: JobRef;
  readonly fields: readonly ValueField[];
}

/** Bounds of a read, all in bytes or characters. */
export interface ValueBounds {
  /** A value is kept up to this length. */
  readonly keep: number;
  /** A larger value is not read. */
  readonly largest: number;
  /** Large values are read until this much has been read in all. */
  readonly budget: number;
}

/** For a row of a list, which shows only the beginning of each value. */
export const ROW_BOUNDS: ValueBounds = { keep: 4_096, largest: 8_388_608, budget: 33_554_432 };
/** For a task on its own. */
export const DETAIL_BOUNDS: ValueBounds = { keep: 262_144, largest: 16_777_216, budget: 67_108_864 };

/** The last stack trace of a list is shown, so the whole list is needed. */
const WHOLE: ReadonlySet<ValueField> = new Set(['stacktrace']);

/** Bytes that are read at once. */
const BATCH = 2_097_152;

/** @returns the values of each request, in their order */
export async function readValues(
  access: QueueAccess,
  requests: readonly ValueRequest[],
  bounds: ValueBounds,
  options: ReadOptions,
): Promise<readonly JobValues[]> {
  const values: JobValues[] = requests.map(() => ({}));
  const lengths = await access.read(
    requests.flatMap(({ job, fields }) => fields.map((field) => lengthCommand(job, field))),
    options,
  );
  let budget = bounds.budget;
  let batch: { readonly at: number; readonly fields: ValueField[]; readonly command: QueueCommand }[] = [];
  let batched = 0;
  let next = 0;

  async function flush(): Promise<void> {
    const replies = await access.read(
      batch.map(({ command }) => command),
      options,
    );
    for (const [index, { at, fields }] of batch.entries()) {
      const texts = asFields(replies[index]);
      for (const [nth, field] of fields.entries()) {
        const text = texts[nth] ?? null;
        if (text !== null) values[at] = { ...values[at], [field]: cut(text, field, bounds.keep) };
      }
    }
    batch = [];
    batched = 0;
  }

  for (const [at, { job, fields }] of requests.entries()) {
    const wanted: ValueField[] = [];
    for (const field of fields) {
      const length = asCount(lengths[next++]);
      if (length === 0) continue;
      if (length > bounds.largest || (length > BATCH / 32 && length > budget)) {
        values[at] = { ...values[at], [field]: { text: `<${length} bytes>`, isCut: true } };
        continue;
      }
      if (batched > 0 && batched + length > BATCH) await flush();
      budget -= length;
      batched += length;
      wanted.push(field);
    }
    if (wanted.length === 0) continue;
    const command = ['HMGET', job.queue.key(job.id), ...wanted] as const;
    batch.push({ at, fields: wanted, command: { queue: job.queue, command } });
  }
  await flush();
  return values;
}

function lengthCommand({ queue, id }: JobRef, field: ValueField): QueueCommand {
  return { queue, command: ['HSTRLEN', queue.key(id), field] };
}

function cut(text: string, field: ValueField, keep: number): JobValue {
  if (text.length <= keep || WHOLE.has(field)) return { text, isCut: false };
  // A slice would keep the whole text in memory.
  return { text: Buffer.from(text.slice(0, keep)).toString(), isCut: true };
}
