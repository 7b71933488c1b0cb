/**
 * A sorted list of record numbers ("slots") by a numeric key, ties by id, for indexes of a million
 * records: insertion, removal and seeking cost the logarithm, a page costs what the page holds.
 * Blocks of sorted arrays, as in a B+ tree of two levels: keys lie beside the slots, so that a search
 * touches little memory, and the usual case (the newest key) is an append to the last block.
 */
import { type SlotWalk, walkDown, walkUp } from './slot-walk.ts';

const FULL = 512;

/** A key that sorts behind all others, in both directions: the record has no value. */
export const NO_KEY = Number.POSITIVE_INFINITY;

/** Part of a sorted list. */
export interface SlotBlock {
  keys: Float64Array;
  slots: Uint32Array;
  size: number;
}

/** Orders slots whose keys are equal; negative when `a` comes first, 0 only for the same slot. */
export type CompareSlots = (a: number, b: number) => number;

/** A place in the order, of a row that need not be listed any more. */
export interface SeekTarget {
  readonly key: number;
  /** Compares a slot of the same key with the target: negative when the slot comes first. */
  compare(slot: number): number;
}

/** A sorted list of slots. A walk is valid until the next change. */
export interface OrderedSlots {
  readonly size: number;
  insert(key: number, slot: number): void;
  /** @returns whether that slot was listed under that key */
  remove(key: number, slot: number): boolean;
  /** How many slots come before a place, ascending. */
  countBefore(target: SeekTarget): number;
  /**
   * Walks by key, `asc` or `desc`, ties always ascending, {@link NO_KEY} always last.
   *
   * @param after begin behind this place; `null`: at the start
   */
  walk(order: 'asc' | 'desc', after: SeekTarget | null): SlotWalk;
  /** The lowest key; {@link NO_KEY} when empty. */
  firstKey(): number;
  /** The slot of the lowest key; −1 when empty. */
  first(): number;
}

/** @param compare order of slots with equal keys */
export function createOrderedSlots(compare: CompareSlots): OrderedSlots {
  const blocks: SlotBlock[] = [];
  let size = 0;

  /** Below 0 when an entry comes before (key, slot), or before the target where one is given. */
  function order(key: number, at: number, slot: number, entry: number, target: SeekTarget | null): number {
    if (at !== key) return at < key ? -1 : 1;
    return target === null ? compare(entry, slot) : target.compare(entry);
  }

  /** The last block that begins before the place; the first block if none does. Most searches are for recent keys. */
  function blockFor(key: number, slot: number, target: SeekTarget | null): number {
    let low = 0;
    let high = blocks.length - 1;
    while (low < high) {
      // The newest block first: that is where live traffic lands.
      const middle = high === blocks.length - 1 ? high : (low + high + 1) >> 1;
      const block = blocks[middle] as SlotBlock;
      if (order(key, block.keys[0] as number, slot, block.slots[0] as number, target) <= 0) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Index in the block of the first entry that is not before the place. */
  function lowerBound(block: SlotBlock, key: number, slot: number, target: SeekTarget | null): number {
    const { keys, slots } = block;
    let low = 0;
    let high = block.size;
    if (high > 0 && (keys[high - 1] as number) < key) return high;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (order(key, keys[middle] as number, slot, slots[middle] as number, target) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  function insert(key: number, slot: number): void {
    size++;
    if (blocks.length === 0) blocks.push(newBlock(4));
    const at = blockFor(key, slot, null);
    let block = blocks[at] as SlotBlock;
    let index = lowerBound(block, key, slot, null);
    if (block.size === block.keys.length) {
      if (block.size < FULL) grow(block);
      else {
        // An append leaves the full block as it is, so that ordered intake wastes no memory.
        const kept = index === FULL ? FULL : FULL >> 1;
        splitBlock(at, kept);
        if (index > kept || kept === FULL) {
          block = blocks[at + 1] as SlotBlock;
          index -= kept;
        }
      }
    }
    if (index < block.size) {
      block.keys.copyWithin(index + 1, index, block.size);
      block.slots.copyWithin(index + 1, index, block.size);
    }
    block.keys[index] = key;
    block.slots[index] = slot;
    block.size++;
  }

  function splitBlock(at: number, kept: number): void {
    const block = blocks[at] as SlotBlock;
    const next = newBlock(FULL);
    next.keys.set(block.keys.subarray(kept));
    next.slots.set(block.slots.subarray(kept));
    next.size = block.size - kept;
    block.size = kept;
    blocks.splice(at + 1, 0, next);
  }

  function remove(key: number, slot: number): boolean {
    if (size === 0) return false;
    const at = blockFor(key, slot, null);
    const block = blocks[at] as SlotBlock;
    const index = lowerBound(block, key, slot, null);
    if (index >= block.size || block.slots[index] !== slot || block.keys[index] !== key) return false;
    block.keys.copyWithin(index, index + 1, block.size);
    block.slots.copyWithin(index, index + 1, block.size);
    block.size--;
    size--;
    if (block.size < FULL >> 2) shrink(at);
    return true;
  }

  /** Drops an empty block, joins a thin one with the next: memory follows what is listed. */
  function shrink(at: number): void {
    const block = blocks[at] as SlotBlock;
    const next = blocks[at + 1];
    if (block.size === 0) {
      blocks.splice(at, 1);
    } else if (next !== undefined && block.size + next.size <= FULL >> 1) {
      while (block.keys.length < block.size + next.size) grow(block);
      block.keys.set(next.keys.subarray(0, next.size), block.size);
      block.slots.set(next.slots.subarray(0, next.size), block.size);
      block.size += next.size;
      blocks.splice(at + 1, 1);
    }
  }

  function seek(target: SeekTarget): { block: number; index: number } {
    if (blocks.length === 0) return { block: 0, index: 0 };
    const at = blockFor(target.key, -1, target);
    const block = blocks[at] as SlotBlock;
    const index = lowerBound(block, target.key, -1, target);
    return index < block.size ? { block: at, index } : { block: at + 1, index: 0 };
  }

  function countBefore(target: SeekTarget): number {
    const place = seek(target);
    let count = place.index;
    for (let at = 0; at < place.block; at++) count += (blocks[at] as SlotBlock).size;
    return count;
  }

  return {
    get size() {
      return size;
    },
    insert,
    remove,
    countBefore,
    walk: (direction, after) =>
      direction === 'asc' ? walkUp(blocks, seek, after) : walkDown(blocks, seek, after),
    first: () => (size === 0 ? -1 : ((blocks[0] as SlotBlock).slots[0] as number)),
    firstKey: () => (size === 0 ? NO_KEY : ((blocks[0] as SlotBlock).keys[0] as number)),
  };
}

function newBlock(capacity: number): SlotBlock {
  return { keys: new Float64Array(capacity), slots: new Uint32Array(capacity), size: 0 };
}

function grow(block: SlotBlock): void {
  const bigger = newBlock(Math.min(FULL, block.keys.length * 4));
  bigger.keys.set(block.keys.subarray(0, block.size));
  bigger.slots.set(block.slots.subarray(0, block.size));
  block.keys = bigger.keys;
  block.slots = bigger.slots;
}
