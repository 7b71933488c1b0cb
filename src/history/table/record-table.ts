/** Packs the records of tasks into the columns of a table, and unpacks them. */
import { lifeOf, retriesIn, type TaskLife } from '../merge/life.ts';
import type { MutableRecord, Ranks, TaskRecord } from '../merge/record.ts';
import { blankRecord, RARE_FIELDS, type RareField } from '../merge/record-fields.ts';
import { hasKind, readEntries, writeEntries } from './entry-table.ts';
import { type Extra, extraBytes, extraOf, FACT, inlineBytes, type Records } from './records.ts';
import type { Text } from './values.ts';

/** A rank takes three bits. */
const RANK_MASK = 0x7;

/** @returns the record of a task as it is now; if it is not held, the caller owns it */
export function readRecord(records: Records, slot: number): MutableRecord {
  return records.held.records.get(slot) ?? unpackRecord(records, slot);
}

function unpackRecord(records: Records, slot: number): MutableRecord {
  const name = records.name[slot] as number;
  const queue = records.queue[slot] as number;
  const facts = records.facts[slot] as number;
  const record = blankRecord(
    records.ids[slot] as string,
    readEntries(records.entries, records.heads[slot] as number),
    unpackRanks(records.ranks[slot] as number),
  );
  record.name = name === 0 ? null : records.names.text(name);
  record.queue = queue === 0 ? null : records.queues.text(queue);
  record.args = textOf(records, records.args[slot]);
  record.kwargs = textOf(records, records.kwargs[slot]);
  record.parentId = records.parents[slot] ?? null;
  record.hasNoParent = (facts & FACT.NO_PARENT) !== 0;
  record.rootId = reportedRoot(records, slot);
  record.result = textOf(records, records.results[slot]);
  record.runtime = runtimeOf(records, slot);
  record.isMissing = (facts & FACT.MISSING) !== 0;
  const extra = records.extras.size === 0 ? undefined : records.extras.get(slot);
  if (extra !== undefined) readExtra(records, record, extra);
  return record;
}

function readExtra(records: Records, record: MutableRecord, extra: Extra): void {
  copyRare(extra, record);
  record.groupId = extra.groupId;
  record.chordId = extra.chordId;
  record.exception = textOf(records, extra.exception);
  record.traceback = textOf(records, extra.traceback);
  record.truncated = extra.truncated;
}

type RareFields = Pick<MutableRecord, RareField>;

function copyRare(from: RareFields, to: RareFields): void {
  for (const field of RARE_FIELDS) copyField(from, to, field);
}

function copyField<Field extends RareField>(from: RareFields, to: RareFields, field: Field): void {
  to[field] = from[field];
}

/** @returns state, worker and times of a task */
export function readLife(records: Records, slot: number): TaskLife {
  const held = records.held.records.get(slot);
  if (held !== undefined) return lifeOf(held.entries, held.runtime);
  return lifeOf(readEntries(records.entries, records.heads[slot] as number), runtimeOf(records, slot));
}

/** @returns when each attempt of a task ended that was retried */
export function readRetries(records: Records, slot: number): readonly number[] {
  const held = records.held.records.get(slot);
  if (held !== undefined) return retriesIn(held.entries);
  const head = records.heads[slot] as number;
  // Few tasks are retried, so that no entries are unpacked.
  return hasKind(records.entries, head, 'retried') ? retriesIn(readEntries(records.entries, head)) : NEVER;
}

const NEVER: readonly number[] = [];

/** @returns the root that a message named; `null` when it was derived, or is not known */
export function reportedRoot(records: Records, slot: number): string | null {
  return ((records.facts[slot] as number) & FACT.ROOT_DERIVED) === 0 ? (records.roots[slot] ?? null) : null;
}

/** Packs a record, except for its name, queue and relatives, which the indexes write. */
export function writeRecord(records: Records, slot: number, record: TaskRecord): void {
  records.heads[slot] = writeEntries(records.entries, records.heads[slot] as number, record.entries);
  records.ranks[slot] = packRanks(record.ranks);
  writeText(records, records.args, slot, record.args, FACT.ARGS_REDACTED);
  writeText(records, records.kwargs, slot, record.kwargs, FACT.KWARGS_REDACTED);
  writeText(records, records.results, slot, record.result, FACT.RESULT_REDACTED);
  records.runtimes[slot] = record.runtime ?? Number.NaN;
  const facts = (records.facts[slot] as number) & ~(FACT.NO_PARENT | FACT.MISSING);
  records.facts[slot] =
    facts | (record.hasNoParent ? FACT.NO_PARENT : 0) | (record.isMissing ? FACT.MISSING : 0);
  if (hasExtra(record) || records.extras.has(slot)) writeExtra(records, slot, record);
}

function hasExtra(record: TaskRecord): boolean {
  if (record.exception !== null || record.traceback !== null || record.truncated.length > 0) return true;
  for (const field of RARE_FIELDS) if (record[field] !== null) return true;
  return false;
}

function writeExtra(records: Records, slot: number, record: TaskRecord): void {
  const extra = extraOf(records, slot);
  records.textBytes += extraBytes(record) - extraBytes(extra);
  copyRare(record, extra);
  extra.truncated = record.truncated;
  const { exception, traceback } = extra;
  extra.exception = replaceText(records, exception, record.exception);
  if (extra.exception !== exception) clearFact(records, slot, FACT.EXCEPTION_REDACTED | FACT.CAUSE_FOUND);
  extra.traceback = replaceText(records, traceback, record.traceback);
  if (extra.traceback !== traceback) clearFact(records, slot, FACT.TRACEBACK_REDACTED | FACT.CAUSE_FOUND);
}

function textOf(records: Records, text: Text | null | undefined): string | null {
  if (text === undefined || text === null || typeof text === 'string') return text ?? null;
  return records.values.read(text).text;
}

function runtimeOf(records: Records, slot: number): number | null {
  const runtime = records.runtimes[slot] as number;
  return Number.isNaN(runtime) ? null : runtime;
}

/** @param redacted the fact that the text is redacted, which does not hold for a new one */
function writeText(
  records: Records,
  column: (Text | null)[],
  slot: number,
  text: string | null,
  redacted: number,
): void {
  const old = column[slot] ?? null;
  if (old === text) return;
  const held = replaceText(records, old, text);
  if (held === old) return;
  column[slot] = held;
  clearFact(records, slot, redacted);
}

function clearFact(records: Records, slot: number, facts: number): void {
  records.facts[slot] = (records.facts[slot] as number) & ~facts;
}

/** Releases the old text and holds the new one. @returns what is held */
function replaceText(records: Records, old: Text | null, text: string | null): Text | null {
  if (textOf(records, old) === text) return old;
  records.textBytes -= inlineBytes(old);
  records.values.drop(old);
  const held = text === null ? null : records.values.keep(text);
  records.textBytes += inlineBytes(held);
  return held;
}

function packRanks(ranks: Ranks): number {
  return (
    ranks.name |
    (ranks.args << 3) |
    (ranks.queue << 6) |
    (ranks.eta << 9) |
    (ranks.lineage << 12) |
    (ranks.group << 15) |
    (ranks.chord << 18) |
    (ranks.result << 21) |
    (ranks.exception << 24)
  );
}

function unpackRanks(packed: number): Ranks {
  return {
    name: packed & RANK_MASK,
    args: (packed >>> 3) & RANK_MASK,
    queue: (packed >>> 6) & RANK_MASK,
    eta: (packed >>> 9) & RANK_MASK,
    lineage: (packed >>> 12) & RANK_MASK,
    group: (packed >>> 15) & RANK_MASK,
    chord: (packed >>> 18) & RANK_MASK,
    result: (packed >>> 21) & RANK_MASK,
    exception: (packed >>> 24) & RANK_MASK,
  };
}
