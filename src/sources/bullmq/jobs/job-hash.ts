/**
 * A job's hash (bullmq, includes/storeJob.lua and classes/job): its small fields, and its texts (data, options, return
 * value, reason of failure, stack traces). Texts may have any length, and Redis cannot return a part of one, so nothing is
 * fetched before its length is known. A text that is too large is shown as its length.
 */
import { asCount, asFields, asNumber } from '../../../redis/replies.ts';
import { isTime } from '../../../values.ts';
import {
  ALWAYS_READ,
  BATCH_BYTES,
  MOST_FIELDS,
  readByScript,
  readFields,
  readHashes,
} from '../access/hash-reads.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import { type JobRef, keyCommand, type QueueCommand } from '../access/queue-reads.ts';
import { dueTime, type JobSet } from './job-sets.ts';

/** A job in one of its queue's sets. */
export interface SetEntry extends JobRef {
  readonly set: JobSet;
  /** `null` in a list. */
  readonly score: number | null;
}

/** The data of the small fields. Times in milliseconds since 1970. */
export interface JobFacts {
  readonly name: string | null;
  /** When it was added, by the clock of the app or as the app chose. */
  readonly addedAt: number | null;
  /** When its last run began. */
  readonly processedAt: number | null;
  readonly finishedAt: number | null;
  /** How long it is or was delayed, in milliseconds. */
  readonly delay: number | null;
  /** Runs that ended: failed ones, and the one that succeeded. */
  readonly attemptsMade: number;
  /** How often it stalled and was given to be run again. */
  readonly stalls: number;
  /** Key of the parent, which waits for it. */
  readonly parentKey: string | null;
  /** Name of the worker that runs or ran it; `null` when workers have no names. */
  readonly worker: string | null;
}

/** A job that stalled too often is given to a worker once more, which fails it with this and does not run it. */
export const STALLED_TOO_OFTEN = 'job stalled more than allowable limit';

/** The small fields, in the order in which {@link factsOf} takes them. */
const FACT_FIELDS = [
  'name',
  'timestamp',
  'processedOn',
  'finishedOn',
  'delay',
  'atm',
  'attemptsMade',
  'parentKey',
  'pb',
  'stc',
  'defa',
] as const;

// BullMQ never writes longer values into these fields.
const LONGEST = 4_096;

/** Reads the small fields of jobs. @returns `null` for a job that does not exist */
export async function readFacts(
  access: Pick<QueueAccess, 'read'>,
  jobs: readonly JobRef[],
): Promise<readonly (JobFacts | null)[]> {
  return (await readFields(access, jobs, FACT_FIELDS)).map(factsOf);
}

/** @returns `null` when there is no such job */
function factsOf(fields: readonly (string | null)[]): JobFacts | null {
  const [name, timestamp, processedOn, finishedOn, delay, atm, attemptsMade, parentKey, pb, stc, defa] =
    fields;
  const addedAt = timeOf(timestamp);
  // Every job has both fields; a hash that lost one of them still counts.
  if (addedAt === null && (name ?? null) === null) return null;
  return {
    name: shortText(name),
    addedAt,
    processedAt: timeOf(processedOn),
    finishedAt: timeOf(finishedOn),
    delay: asNumber(delay),
    // Older versions call it `attemptsMade`.
    attemptsMade: Math.max(0, asNumber(atm) ?? asNumber(attemptsMade) ?? 0),
    // With a failure that is due (`defa`), the next worker fails it and does not run it.
    stalls: Math.max(0, (asNumber(stc) ?? 0) - ((defa ?? null) === null ? 0 : 1)),
    parentKey: shortText(parentKey) || null,
    worker: shortText(pb) || null,
  };
}

/**
 * When a job last changed, as far as Redis knows: when it ended or began to wait for its children (the score),
 * when it was delayed (the time it is due, less its delay), else when its last run began, else when it was
 * added.
 */
export function lastChange(
  set: JobSet,
  score: number | null,
  { addedAt, processedAt, delay }: JobFacts,
): number | null {
  if (set.isByTime) return score === null ? null : validTime(Math.floor(score));
  const known = processedAt ?? addedAt;
  if (set.part !== 'delayed' || score === null || delay === null || delay <= 0) return known;
  return validTime(Math.max(dueTime(score) - delay, known ?? Number.NEGATIVE_INFINITY));
}

/** Parses a time in milliseconds; `null` if it is not valid. */
export function timeOf(value: string | null | undefined): number | null {
  const time = asNumber(value);
  return time === null ? null : validTime(Math.floor(time));
}

function validTime(time: number): number | null {
  return isTime(time) ? time : null;
}

/** The date; `null` for no valid one. */
export function dateOf(time: number | null): Date | null {
  return isTime(time) ? new Date(time) : null;
}

/** A text that BullMQ itself writes, which is short. */
export function shortText(value: string | null | undefined): string | null {
  return value === undefined || value === null ? null : value.slice(0, LONGEST);
}

/** A field of a job's hash that holds a text. */
export type ValueField = 'data' | 'opts' | 'returnvalue' | 'failedReason' | 'stacktrace' | 'progress';

/** The part of a text that was read. */
export interface JobValue {
  /** Its beginning; for one that is too large to be read, `<n bytes>`. */
  readonly text: string;
  readonly isCut: boolean;
}

/** Texts of one job. Texts that it does not have are absent. */
export type JobValues = Partial<Record<ValueField, JobValue>>;

/** `undefined` for a text that is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The data in a text; `undefined` if it is cut or not JSON. */
export function jsonIn(value: JobValue | undefined): unknown {
  return value === undefined || value.isCut ? undefined : parseJson(value.text);
}

/** Which texts of a job to read. */
interface ValueRequest {
  readonly job: JobRef;
  readonly fields: readonly ValueField[];
}

/** Bounds of a read, all in bytes or characters. */
export interface ValueBounds {
  /** A text is kept up to this length. */
  readonly keep: number;
  /** A larger text is not read. */
  readonly largest: number;
  /** Large texts are read until this much has been read in all. */
  readonly budget: number;
}

/** For a row of a list, which shows only the beginning of each text. */
export const ROW_BOUNDS: ValueBounds = { keep: 4_096, largest: 8_388_608, budget: 33_554_432 };
/** For a task on its own. */
export const DETAIL_BOUNDS: ValueBounds = { keep: 262_144, largest: 16_777_216, budget: 67_108_864 };

/** The last stack trace of a list is shown, so the whole list is needed; of a longer one, only the last. */
const LONGEST_TRACES = 262_144;

/** The texts of a request. */
interface RequestedTexts extends ValueRequest {
  values: JobValues;
  /** Those that may be read, and how long they are at most together. */
  readable: readonly ValueField[];
  length: number;
}

/** @returns the texts of each request, in their order */
export async function readValues(
  access: QueueAccess,
  requests: readonly ValueRequest[],
  bounds: ValueBounds,
): Promise<readonly JobValues[]> {
  const all = requests.map((one): RequestedTexts => ({ ...one, values: {}, readable: [], length: 0 }));
  const rows = await readByScript(
    access,
    requests.map(({ job, fields }) => ({ job, texts: fields })),
    ['name'],
  );
  const rest = all.filter((one, index) => {
    const [, ...texts] = rows[index] ?? [];
    one.values = valuesOf(one.fields, texts, bounds.keep);
    return texts.length === 0;
  });
  await findReadable(access, rest, bounds);
  const some = rest.filter(({ readable }) => readable.length > 0);
  for (const batch of batchesOf(some, ({ length }) => length)) {
    const replies = await access.read(
      batch.map(({ job: { queue, id }, readable }) => keyCommand(queue, 'HMGET', id, ...readable)),
    );
    for (const [index, one] of batch.entries()) {
      const read = valuesOf(one.readable, asFields(replies[index]), bounds.keep);
      one.values = { ...one.values, ...read };
    }
  }
  return all.map(({ values }) => values);
}

/**
 * Decides which texts are read. For those that are too large it sets `<n bytes>`.
 *
 * A job is known to be small by one command for all its texts; only the others are asked for each length.
 */
async function findReadable(
  access: QueueAccess,
  all: readonly RequestedTexts[],
  { largest, budget }: ValueBounds,
): Promise<void> {
  const sizes = await readSizes(access, all);
  let left = budget;
  const fits = (length: number): boolean => length <= largest && (length <= ALWAYS_READ || length <= left);
  const unclear: { readonly one: RequestedTexts; readonly field: ValueField }[] = [];
  for (const [at, one] of all.entries()) {
    const { fields } = one;
    const size = sizes[at] ?? null;
    if (size === null || !fits(size)) {
      const measured = size === null && all.length > 1 ? fieldsToMeasure(fields) : fields;
      unclear.push(...measured.map((field) => ({ one, field })));
    } else if (fields.length > 0) {
      left -= size;
      one.readable = fields;
      one.length = size;
    }
  }
  const lengths = await access.read(
    unclear.map(({ one: { job }, field }) => keyCommand(job.queue, 'HSTRLEN', job.id, field)),
  );
  for (const [index, { one, field }] of unclear.entries()) {
    const length = asCount(lengths[index]);
    if (length === 0) continue;
    if (!fits(length)) {
      one.values = { ...one.values, [field]: { text: `<${length} bytes>`, isCut: true } };
      continue;
    }
    left -= length;
    one.readable = [...one.readable, field];
    one.length += length;
  }
}

/** If Redis does not report sizes, each text takes a command: the progress of jobs that have ended is left out. */
function fieldsToMeasure(fields: readonly ValueField[]): readonly ValueField[] {
  return fields.length > 2 ? fields.filter((field) => field !== 'progress') : fields;
}

/** Sizes of the jobs of requests; `null` if a single length is as cheap, or Redis does not report sizes. */
async function readSizes(
  access: QueueAccess,
  requests: readonly ValueRequest[],
): Promise<readonly (number | null)[]> {
  const asked = requests.filter(({ fields }) => fields.length > 1);
  const sizes = (await access.read(asked.map(({ job }) => sizeCommand(job)))).values();
  return requests.map(({ fields }) => (fields.length > 1 ? asNumber(sizes.next().value) : null));
}

/** Divides a list into batches of a bounded number of bytes. */
function* batchesOf<Item>(
  items: readonly Item[],
  lengthOf: (item: Item) => number,
): Generator<readonly Item[], void, undefined> {
  let batch: Item[] = [];
  let bytes = 0;
  for (const item of items) {
    const length = lengthOf(item);
    if (batch.length > 0 && bytes + length > BATCH_BYTES) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(item);
    bytes += length;
  }
  if (batch.length > 0) yield batch;
}

/**
 * The texts in a reply to HMGET. Empty ones are left out.
 *
 * @param keep how many characters of each to keep
 */
function valuesOf(fields: readonly ValueField[], texts: readonly (string | null)[], keep: number): JobValues {
  const values: JobValues = {};
  for (const [index, field] of fields.entries()) {
    const text = texts[index];
    if (text) values[field] = cut(text, field, keep);
  }
  return values;
}

function cut(text: string, field: ValueField, keep: number): JobValue {
  if (field === 'stacktrace')
    return text.length <= LONGEST_TRACES ? { text, isCut: false } : lastOf(text, keep);
  return text.length <= keep ? { text, isCut: false } : { text: copyOf(text.slice(0, keep)), isCut: true };
}

/** A slice would keep the whole text in memory. */
function copyOf(slice: string): string {
  return Buffer.from(slice).toString();
}

/** Quotes within the last stack trace to step over, and the longest escape in JSON. */
const MOST_QUOTES = 300_000;
const ESCAPE = 6;

/** The last text of a long list in JSON, which would take too long to parse. */
function lastOf(list: string, keep: number): JobValue {
  const end = list.lastIndexOf('"');
  const start = openingQuote(list, end);
  if (start === null) return { text: `<${list.length} bytes>`, isCut: true };
  const isCut = end - start - 1 > keep;
  const head = isCut ? list.slice(start, start + 1 + keep) : list.slice(start, end);
  for (let dropped = 0; dropped < ESCAPE; dropped += 1) {
    try {
      const last = JSON.parse(`${head.slice(0, head.length - dropped)}"`) as string;
      return { text: copyOf(isCut ? last : JSON.stringify([last])), isCut };
    } catch {
      // Within an escape.
    }
  }
  return { text: `<${list.length} bytes>`, isCut: true };
}

/** Where the string begins whose closing quote is at `end`; `null`: not found. */
function openingQuote(text: string, end: number): number | null {
  let at = end;
  for (let quotes = 0; quotes < MOST_QUOTES && at > 0; quotes += 1) {
    at = text.lastIndexOf('"', at - 1);
    let slashes = 0;
    while (text[at - 1 - slashes] === '\\') slashes += 1;
    if (at > 0 && slashes % 2 === 0) return at;
  }
  return null;
}

/** Requests the size of a job in bytes. It is optional: the user may not be allowed to, and not every Redis knows it. */
function sizeCommand({ queue, id }: JobRef): QueueCommand {
  return {
    queue,
    command: ['MEMORY', 'USAGE', queue.key(id), 'SAMPLES', String(MOST_FIELDS)],
    isOptional: true,
  };
}

/** The data that was read from a job's hash. */
export interface JobContent {
  readonly facts: JobFacts;
  /** Its texts, in the length that a row shows; `null` when they have not been read. */
  readonly values: JobValues | null;
}

/**
 * Reads the small fields of jobs.
 *
 * @param withTexts whether most of them will be shown, so that their texts are read, too, if they are short
 * @returns `null` for a job that does not exist
 */
export async function readContents(
  access: Pick<QueueAccess, 'read'>,
  jobs: readonly SetEntry[],
  withTexts: boolean,
): Promise<readonly (JobContent | null)[]> {
  const requests = jobs.map((job) => ({ job, texts: withTexts ? textsOf(job) : [] }));
  const rows = await readHashes(access, requests, FACT_FIELDS);
  return rows.map((row, index): JobContent | null => {
    const facts = factsOf(row);
    const texts = row.slice(FACT_FIELDS.length);
    if (facts === null) return null;
    const fields = requests[index]?.texts ?? [];
    return { facts, values: texts.length === 0 ? null : valuesOf(fields, texts, ROW_BOUNDS.keep) };
  });
}

/** The texts that a job of this set may show, whatever its state turns out to be. */
function textsOf({ set }: SetEntry): readonly ValueField[] {
  return set.part === 'completed'
    ? ['data', 'progress', 'returnvalue']
    : ['data', 'progress', 'failedReason', 'stacktrace'];
}
