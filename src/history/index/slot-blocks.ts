/**
 * Sorted blocks of (key, slot) entries, as in a B+ tree of two levels. Keys are stored beside the slots,
 * so a search touches little memory, and the usual insertion (the newest key) appends to the last block.
 */

/** Most entries of a block. */
const BLOCK_SIZE = 512;

/** The key of a record without a value: sorts last in both directions. */
export const NO_KEY = Number.POSITIVE_INFINITY;

/** Consecutive entries of a sorted sequence. */
export interface SlotBlock {
  keys: Float64Array;
  slots: Uint32Array;
  size: number;
}

/** A position to search for. The row there need not be listed any more. */
export interface SeekTarget {
  readonly key: number;
  /** Compares a slot of the same key with the target: negative when the slot comes first. */
  compare(slot: number): number;
}

/** Where an entry is stored. */
export interface BlockPosition {
  block: number;
  index: number;
}

/** The position before every slot of this key. */
export function beforeKey(key: number): SeekTarget {
  return { key, compare: () => 1 };
}

/** The position behind every slot of this key. */
export function behindKey(key: number): SeekTarget {
  return { key, compare: () => -1 };
}

/** The last block that begins before the target; the first block if none does. */
function findBlock(blocks: readonly SlotBlock[], target: SeekTarget): number {
  let low = 0;
  let high = blocks.length - 1;
  while (low < high) {
    // Try the last block first: live traffic has the newest keys.
    const middle = high === blocks.length - 1 ? high : (low + high + 1) >> 1;
    if (compareEntry(blocks[middle] as SlotBlock, 0, target) <= 0) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Index of the first entry of a block that is not before the target. */
function lowerBound(block: SlotBlock, target: SeekTarget): number {
  let low = 0;
  let high = block.size;
  if (high > 0 && (block.keys[high - 1] as number) < target.key) return high;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareEntry(block, middle, target) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function compareEntry(block: SlotBlock, index: number, target: SeekTarget): number {
  const key = block.keys[index] as number;
  if (key !== target.key) return key < target.key ? -1 : 1;
  return target.compare(block.slots[index] as number);
}

/** The first entry that is not before the target; behind the last block when there is none. */
export function seek(blocks: readonly SlotBlock[], target: SeekTarget): BlockPosition {
  if (blocks.length === 0) return { block: 0, index: 0 };
  const block = findBlock(blocks, target);
  const found = blocks[block] as SlotBlock;
  const index = lowerBound(found, target);
  return index < found.size ? { block, index } : { block: block + 1, index: 0 };
}

/** Inserts an entry; a full block is split. */
export function insertEntry(blocks: SlotBlock[], target: SeekTarget, slot: number): void {
  if (blocks.length === 0) blocks.push(newBlock(4));
  const at = findBlock(blocks, target);
  let block = blocks[at] as SlotBlock;
  let index = lowerBound(block, target);
  if (block.size === block.keys.length) {
    if (block.size < BLOCK_SIZE) grow(block);
    else {
      const kept = keptOf(index);
      const next = split(blocks, at, kept);
      if (index > kept || kept === BLOCK_SIZE) {
        block = next;
        index -= kept;
      }
    }
  }
  if (index < block.size) {
    block.keys.copyWithin(index + 1, index, block.size);
    block.slots.copyWithin(index + 1, index, block.size);
  }
  block.keys[index] = target.key;
  block.slots[index] = slot;
  block.size++;
}

/**
 * How many entries of a full block stay before the new one that is inserted there. An entry added at either end leaves
 * the full block as it is, so that ordered additions waste no memory.
 */
function keptOf(index: number): number {
  if (index === 0 || index === BLOCK_SIZE) return index;
  return BLOCK_SIZE >> 1;
}

/** Removes an entry. @returns whether it was there */
export function removeEntry(blocks: SlotBlock[], target: SeekTarget, slot: number): boolean {
  if (blocks.length === 0) return false;
  const at = findBlock(blocks, target);
  const block = blocks[at] as SlotBlock;
  const index = lowerBound(block, target);
  if (index >= block.size || block.slots[index] !== slot || block.keys[index] !== target.key) return false;
  block.keys.copyWithin(index, index + 1, block.size);
  block.slots.copyWithin(index, index + 1, block.size);
  block.size--;
  if (block.size < BLOCK_SIZE >> 2) shrink(blocks, at);
  return true;
}

function newBlock(capacity: number): SlotBlock {
  return { keys: new Float64Array(capacity), slots: new Uint32Array(capacity), size: 0 };
}

function grow(block: SlotBlock): void {
  const bigger = newBlock(Math.min(BLOCK_SIZE, block.keys.length * 4));
  bigger.keys.set(block.keys.subarray(0, block.size));
  bigger.slots.set(block.slots.subarray(0, block.size));
  block.keys = bigger.keys;
  block.slots = bigger.slots;
}

function split(blocks: SlotBlock[], at: number, kept: number): SlotBlock {
  const block = blocks[at] as SlotBlock;
  const next = newBlock(BLOCK_SIZE);
  next.keys.set(block.keys.subarray(kept));
  next.slots.set(block.slots.subarray(kept));
  next.size = block.size - kept;
  block.size = kept;
  blocks.splice(at + 1, 0, next);
  return next;
}

/** Drops an empty block and joins a thin one with the next, so that memory follows what is listed. */
function shrink(blocks: SlotBlock[], at: number): void {
  const block = blocks[at] as SlotBlock;
  const next = blocks[at + 1];
  if (block.size === 0) {
    blocks.splice(at, 1);
  } else if (next !== undefined && block.size + next.size <= BLOCK_SIZE >> 1) {
    while (block.keys.length < block.size + next.size) grow(block);
    block.keys.set(next.keys.subarray(0, next.size), block.size);
    block.slots.set(next.slots.subarray(0, next.size), block.size);
    block.size += next.size;
    blocks.splice(at + 1, 1);
  }
}
