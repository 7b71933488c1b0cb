/**
 * The records of tasks that have changed, kept unpacked until a read, or until there are too many: most tasks get
 * several messages in a row, and unpacking, packing and indexing cost more than merging one.
 */
import type { MutableRecord } from '../merge/record.ts';

/** Most records that are held. With more, they no longer fit into the processor's cache. */
const MAX_HELD = 192;
/** Most bytes that messages may add to held records, estimated, before some of these are packed. */
const MAX_BYTES = 4 * 1024 * 1024;

/** The changed records. */
export interface HeldRecords {
  /** By slot, in the order in which they first changed. */
  readonly records: Map<number, MutableRecord>;
  /** Estimate. */
  bytes: number;
}

/** @returns no records */
export function createHeldRecords(): HeldRecords {
  return { records: new Map(), bytes: 0 };
}

/**
 * Holds a record that has changed.
 *
 * @param bytes by which it has grown, about
 */
export function holdRecord(held: HeldRecords, slot: number, record: MutableRecord, bytes: number): void {
  held.bytes += bytes;
  held.records.set(slot, record);
}

/** Whether some of the held records must be packed before another message is merged. */
export function isFull({ records, bytes }: HeldRecords): boolean {
  return records.size >= MAX_HELD || bytes >= MAX_BYTES;
}

/**
 * Passes on held records and releases them, those that have been held for longest first.
 *
 * @param keep how many stay
 */
export function releaseHeld(
  held: HeldRecords,
  keep: number,
  pack: (slot: number, record: MutableRecord) => void,
): void {
  const { records } = held;
  if (records.size > 0) held.bytes *= keep / records.size;
  for (const [slot, record] of records) {
    if (records.size <= keep) return;
    pack(slot, record);
    records.delete(slot);
  }
}
