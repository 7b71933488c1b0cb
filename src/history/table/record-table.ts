/** Packs the records of tasks into the columns of a table, and unpacks them. */
import { lifeOf, type TaskLife } from '../merge/life.ts';
import type { Ranks, TaskRecord } from '../merge/record.ts';
import { readEntries, writeEntries } from './entry-table.ts';
import { extraOf, FACT, inlineBytes, type Records } from './records.ts';
import type { Text } from './values.ts';

/** A rank takes three bits. */
const RANK_MASK = 0x7;
/** Most records that are held unpacked. */
const MAX_UNPACKED = 256;

/** The name and queue that a task has now, as interned strings; 0: none. */
export interface NameAndQueue {
  readonly name: number;
  readonly queue: number;
}

/** @param present of a task whose indexes are behind; `null`: what the columns hold */
export function readRecord(records: Records, slot: number, present: NameAndQueue | null = null): TaskRecord {
  const unpacked = records.unpacked.get(slot);
  if (unpacked !== undefined) return unpacked;
  const name = present === null ? (records.name[slot] as number) : present.name;
  const queue = present === null ? (records.queue[slot] as number) : present.queue;
  const facts = records.facts[slot] as number;
  const extra = records.extras.size === 0 ? undefined : records.extras.get(slot);
  return {
    id: records.ids[slot] as string,
    entries: readEntries(records.entries, records.heads[slot] as number),
    ranks: unpackRanks(records.ranks[slot] as number),
    name: name === 0 ? null : records.names.text(name),
    queue: queue === 0 ? null : records.queues.text(queue),
    args: textOf(records, records.args[slot]),
    kwargs: textOf(records, records.kwargs[slot]),
    eta: extra?.eta ?? null,
    expires: extra?.expires ?? null,
    parentId: records.parents[slot] ?? null,
    hasNoParent: (facts & FACT.NO_PARENT) !== 0,
    rootId: (facts & FACT.ROOT_DERIVED) !== 0 ? null : (records.roots[slot] ?? null),
    groupId: extra?.groupId ?? null,
    chordId: extra?.chordId ?? null,
    kind: extra?.kind ?? null,
    stamps: extra?.stamps ?? null,
    result: textOf(records, records.results[slot]),
    exception: textOf(records, extra?.exception),
    traceback: textOf(records, extra?.traceback),
    runtime: runtimeOf(records, slot),
    truncated: extra?.truncated ?? NO_FIELDS,
    isMissing: (facts & FACT.MISSING) !== 0,
  };
}

/** @returns state, worker and times of a task */
export function readLife(records: Records, slot: number): TaskLife {
  const entries = records.unpacked.get(slot)?.entries;
  return lifeOf(
    entries ?? readEntries(records.entries, records.heads[slot] as number),
    runtimeOf(records, slot),
  );
}

/**
 * Stores what has changed, except for name, queue and relatives, which the indexes keep.
 *
 * @param before as it was read
 */
export function writeRecord(records: Records, slot: number, before: TaskRecord, after: TaskRecord): void {
  if (after.entries !== before.entries) {
    const head = records.heads[slot] as number;
    records.heads[slot] = writeEntries(records.entries, head, before.entries, after.entries);
  }
  records.ranks[slot] = packRanks(after.ranks);
  if (after.args !== before.args) setText(records, records.args, slot, after.args);
  if (after.kwargs !== before.kwargs) setText(records, records.kwargs, slot, after.kwargs);
  if (after.result !== before.result) setText(records, records.results, slot, after.result);
  if (after.runtime !== before.runtime) records.runtimes[slot] = after.runtime ?? Number.NaN;
  setFact(records, slot, FACT.NO_PARENT, after.hasNoParent);
  setFact(records, slot, FACT.MISSING, after.isMissing);
  if (isExtraChanged(before, after)) writeExtra(records, slot, before, after);
}

/**
 * Holds the records that changed last as they are: most tasks get several messages in a row, and unpacking
 * is what costs most about a message.
 *
 * @returns whether the record is held; the caller no longer owns it then
 */
export function holdRecord(
  { unpacked, maxUnpackedText }: Records,
  slot: number,
  record: TaskRecord,
): boolean {
  if (textLength(record) > maxUnpackedText) {
    unpacked.delete(slot);
    return false;
  }
  if (unpacked.size >= MAX_UNPACKED && !unpacked.has(slot)) unpacked.clear();
  unpacked.set(slot, record);
  return true;
}

function textLength({ args, kwargs, result, exception, traceback }: TaskRecord): number {
  let length = 0;
  if (args !== null) length += args.length;
  if (kwargs !== null) length += kwargs.length;
  if (result !== null) length += result.length;
  if (exception !== null) length += exception.length;
  if (traceback !== null) length += traceback.length;
  return length;
}

function isExtraChanged(before: TaskRecord, after: TaskRecord): boolean {
  return (
    after.eta !== before.eta ||
    after.expires !== before.expires ||
    after.kind !== before.kind ||
    after.stamps !== before.stamps ||
    after.exception !== before.exception ||
    after.traceback !== before.traceback ||
    after.truncated !== before.truncated
  );
}

function writeExtra(records: Records, slot: number, before: TaskRecord, after: TaskRecord): void {
  const extra = extraOf(records, slot);
  extra.eta = after.eta;
  extra.expires = after.expires;
  extra.kind = after.kind;
  extra.truncated = after.truncated;
  if (after.stamps !== before.stamps) {
    records.textBytes += (after.stamps?.size ?? 0) - (before.stamps?.size ?? 0);
    extra.stamps = after.stamps;
  }
  if (after.exception !== before.exception) {
    extra.exception = replaceText(records, extra.exception, after.exception);
  }
  if (after.traceback !== before.traceback) {
    extra.traceback = replaceText(records, extra.traceback, after.traceback);
  }
}

const NO_FIELDS: TaskRecord['truncated'] = [];

function textOf(records: Records, text: Text | null | undefined): string | null {
  if (text === undefined || text === null || typeof text === 'string') return text ?? null;
  return records.values.read(text).text;
}

function runtimeOf(records: Records, slot: number): number | null {
  const runtime = records.runtimes[slot] as number;
  return Number.isNaN(runtime) ? null : runtime;
}

function setText(records: Records, column: (Text | null)[], slot: number, text: string | null): void {
  column[slot] = replaceText(records, column[slot] ?? null, text);
}

/** @returns what is held in place of the old text */
function replaceText(records: Records, old: Text | null, text: string | null): Text | null {
  records.textBytes -= inlineBytes(old);
  records.values.drop(old);
  const held = text === null ? null : records.values.keep(text);
  records.textBytes += inlineBytes(held);
  return held;
}

function setFact(records: Records, slot: number, fact: number, isTrue: boolean): void {
  const facts = records.facts[slot] as number;
  records.facts[slot] = isTrue ? facts | fact : facts & ~fact;
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
