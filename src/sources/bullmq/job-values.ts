/**
 * The large fields of jobs: data, options, return value, reason of failure, stack traces. Redis cannot give a part of
 * a field, so lengths are asked for first, values are read so many bytes at a time, and what is too large
 * is told by its size.
 */

import type { ReadOptions } from '../../redis/reader.ts';
import { asCount, asFields } from '../../redis/replies.ts';
import type { QueueAccess, QueueCommand } from './queue-access.ts';
import type { JobRef } from './queue-ref.ts';

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

/** Which values to read, and how much of them. */
export interface ValueWish {
  readonly job: JobRef;
  readonly fields: readonly ValueField[];
}

/** Bounds of a read, all in bytes or characters. */
export interface ValueBounds {
  /** A value is kept up to this length. */
  readonly keep: number;
  /** One that is larger than this is not read. */
  readonly largest: number;
  /** Large ones are read until this much has been. */
  readonly budget: number;
}

/** For a row of a list, which shows the beginning of each value. */
export const ROW_BOUNDS: ValueBounds = { keep: 4_096, largest: 8_388_608, budget: 33_554_432 };
/** For a task on its own. */
export const DETAIL_BOUNDS: ValueBounds = { keep: 262_144, largest: 16_777_216, budget: 67_108_864 };

/** The stack trace that counts is the last of a list: it takes all of it to find that. */
const WHOLE: ReadonlySet<ValueField> = new Set(['stacktrace']);

/** Bytes that are under way at once. */
const BATCH = 2_097_152;

/** @returns for each wish what there is, in their order */
export async function readValues(
  access: QueueAccess,
  wishes: readonly ValueWish[],
  bounds: ValueBounds,
  options: ReadOptions,
): Promise<readonly JobValues[]> {
  const values: JobValues[] = wishes.map(() => ({}));
  const lengths = await access.read(
    wishes.flatMap(({ job, fields }) => fields.map((field) => lengthCommand(job, field))),
    options,
  );
  let budget = bounds.budget;
  let batch: { readonly place: number; readonly fields: ValueField[]; readonly command: QueueCommand }[] = [];
  let batched = 0;
  let next = 0;

  async function flush(): Promise<void> {
    const replies = await access.read(
      batch.map(({ command }) => command),
      options,
    );
    for (const [index, { place, fields }] of batch.entries()) {
      const texts = asFields(replies[index]);
      for (const [at, field] of fields.entries()) {
        const text = texts[at] ?? null;
        if (text !== null) values[place] = { ...values[place], [field]: cut(text, field, bounds.keep) };
      }
    }
    batch = [];
    batched = 0;
  }

  for (const [place, { job, fields }] of wishes.entries()) {
    const wanted: ValueField[] = [];
    for (const field of fields) {
      const length = asCount(lengths[next++]);
      if (length === 0) continue;
      if (length > bounds.largest || (length > BATCH / 32 && length > budget)) {
        values[place] = { ...values[place], [field]: { text: `<${length} bytes>`, isCut: true } };
        continue;
      }
      if (batched > 0 && batched + length > BATCH) await flush();
      budget -= length;
      batched += length;
      wanted.push(field);
    }
    if (wanted.length === 0) continue;
    const command = ['HMGET', job.queue.key(job.id), ...wanted] as const;
    batch.push({ place, fields: wanted, command: { queue: job.queue, command } });
  }
  await flush();
  return values;
}

function lengthCommand({ queue, id }: JobRef, field: ValueField): QueueCommand {
  return { queue, command: ['HSTRLEN', queue.key(id), field] };
}

function cut(text: string, field: ValueField, keep: number): JobValue {
  if (text.length <= keep || WHOLE.has(field)) return { text, isCut: false };
  // A slice would keep all of the text it is a slice of.
  return { text: Buffer.from(text.slice(0, keep)).toString(), isCut: true };
}
