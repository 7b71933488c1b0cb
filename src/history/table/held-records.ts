/**
 * The records of tasks that have changed, kept unpacked until the indexes catch up: most tasks get several
 * messages in a row, and unpacking and packing cost more than merging one.
 */
import type { MutableRecord } from '../merge/record.ts';

/**
 * Most records that are held. Packing and indexing as many takes less than a millisecond. With more, the collector
 * copies more of them, and they no longer fit into the processor's cache.
 */
const MAX_HELD = 192;
/** Most bytes that messages may add to held records, estimated, before these are packed. */
const MAX_BYTES = 4 * 1024 * 1024;

/** The changed records, in the order in which they first changed. */
export interface HeldRecords {
  readonly slots: number[];
  readonly records: MutableRecord[];
  /** Estimate. */
  bytes: number;
}

/** The held records and where to find that of a task. */
interface HeldTable {
  readonly held: HeldRecords;
  /** By slot: the position of its record plus one; 0: none is held. */
  readonly waiting: Uint32Array;
}

/** @returns no records */
export function createHeldRecords(): HeldRecords {
  return { slots: [], records: [], bytes: 0 };
}

/** @returns the record of a task that has changed */
export function heldRecord({ held, waiting }: HeldTable, slot: number): MutableRecord | undefined {
  const position = waiting[slot] as number;
  return position === 0 ? undefined : held.records[position - 1];
}

/**
 * Holds a record that has changed.
 *
 * @param bytes by which it has grown, about
 */
export function holdRecord(
  { held, waiting }: HeldTable,
  slot: number,
  record: MutableRecord,
  bytes: number,
): void {
  held.bytes += bytes;
  if (waiting[slot] !== 0) return;
  held.slots.push(slot);
  waiting[slot] = held.records.push(record);
}

/** Whether the held records must be packed before another message is merged. */
export function isFull({ held }: HeldTable): boolean {
  return held.records.length >= MAX_HELD || held.bytes >= MAX_BYTES;
}

/** Passes on each held record and lets go of it. */
export function releaseHeld(
  { held, waiting }: HeldTable,
  pack: (slot: number, record: MutableRecord) => void,
): void {
  const { slots, records } = held;
  for (let at = 0; at < slots.length; at++) {
    const slot = slots[at] as number;
    pack(slot, records[at] as MutableRecord);
    waiting[slot] = 0;
  }
  slots.length = 0;
  records.length = 0;
  held.bytes = 0;
}
