/**
 * Record numbers ("slots") sorted by a numeric key, ties by id, for indexes of a million records: insertion,
 * removal and seeking cost the logarithm of the size, and a page costs what it holds.
 */

/** Orders slots of equal keys: negative when `a` comes first, 0 only for the same slot. */
export type CompareSlots = (a: number, b: number) => number;

/** A sorted sequence of slots. */
export interface OrderedSlots {
  readonly size: number;
  insert(key: number, slot: number): void;
  /** @returns whether the slot was listed under that key */
  remove(key: number, slot: number): boolean;
  /** How many slots come before a position, ascending. */
  countBefore(target: SeekTarget): number;
  /**
   * Walks by key, `asc` or `desc`, ties always ascending, {@link NO_KEY} always last. The walk is valid until
   * the next change.
   *
   * @param after begin behind this position; `null`: at the start
   */
  walk(order: 'asc' | 'desc', after: SeekTarget | null): SlotWalk;
  /** Copies the slots from one position up to another, in parts. `null`: the start, or the end. */
  copy(from: SeekTarget | null, to: SeekTarget | null): Uint32Array[];
  /** The lowest key; {@link NO_KEY} when empty. */
  firstKey(): number;
  /** The slot of the lowest key; −1 when empty. */
  first(): number;
}

/** @param compare order of slots with equal keys */
export function createOrderedSlots(compare: CompareSlots): OrderedSlots {
  const blocks: SlotBlock[] = [];
  // Reused for every insertion and removal, which are too many for an object each.
  const entry = { key: 0, slot: 0, compare: (other: number) => compare(other, entry.slot) };

  function targetOf(key: number, slot: number): SeekTarget {
    entry.key = key;
    entry.slot = slot;
    return entry;
  }

  // The size is a field: with a getter, V8 would give each list a shape of its own and look up its methods.
  const list: OrderedSlots & { size: number } = {
    size: 0,
    insert(key, slot) {
      insertEntry(blocks, targetOf(key, slot), slot);
      list.size++;
    },
    remove(key, slot) {
      const isRemoved = removeEntry(blocks, targetOf(key, slot), slot);
      if (isRemoved) list.size--;
      return isRemoved;
    },
    countBefore(target) {
      const { block, index } = seek(blocks, target);
      let count = index;
      for (let at = 0; at < block; at++) count += (blocks[at] as SlotBlock).size;
      return count;
    },
    walk: (order, after) => (order === 'asc' ? walkUp(blocks, after) : walkDown(blocks, after)),
    copy(from, to) {
      const start = from === null ? { block: 0, index: 0 } : seek(blocks, from);
      const end = to === null ? { block: blocks.length, index: 0 } : seek(blocks, to);
      return blocks.slice(start.block, end.block + 1).map(({ slots, size: used }, at) => {
        const block = start.block + at;
        return slots.slice(block === start.block ? start.index : 0, block === end.block ? end.index : used);
      });
    },
    first: () => (list.size === 0 ? -1 : ((blocks[0] as SlotBlock).slots[0] as number)),
    firstKey: () => (list.size === 0 ? NO_KEY : ((blocks[0] as SlotBlock).keys[0] as number)),
  };
  return list;
}

/** Slots in order, each found when it is asked for. */
export type SlotWalk = Iterable<number>;

/**
 * Walks by ascending keys, ties ascending.
 *
 * @param after begin behind this position; `null`: at the start
 */
function* walkUp(blocks: readonly SlotBlock[], after: SeekTarget | null): Generator<number> {
  let { block, index } = after === null ? { block: 0, index: 0 } : seekBehind(blocks, after);
  for (; block < blocks.length; block++, index = 0) {
    const { slots, size } = blocks[block] as SlotBlock;
    for (; index < size; index++) yield slots[index] as number;
  }
}

/**
 * Walks by descending keys, yet ascending ties. Slots without a key come last.
 *
 * @param after begin behind this position; `null`: at the start
 */
function* walkDown(blocks: readonly SlotBlock[], after: SeekTarget | null): Generator<number> {
  const highest = after === null ? NO_KEY : after.key;
  if (after !== null) yield* walkKey(blocks, highest, seekBehind(blocks, after));
  if (after !== null && highest === NO_KEY) return;
  let position = seek(blocks, beforeKey(highest));
  while (stepBack(blocks, position)) {
    const { keys, slots } = blocks[position.block] as SlotBlock;
    const key = keys[position.index] as number;
    if (keyBefore(blocks, position) !== key) {
      yield slots[position.index] as number;
      continue;
    }
    position = seek(blocks, beforeKey(key));
    yield* walkKey(blocks, key, position);
  }
  yield* walkKey(blocks, NO_KEY, seek(blocks, beforeKey(NO_KEY)));
}

/** The slots of one key, from a position on. */
function* walkKey(
  blocks: readonly SlotBlock[],
  key: number,
  { block, index }: BlockPosition,
): Generator<number> {
  for (let at = block, from = index; at < blocks.length; at++, from = 0) {
    const { keys, slots, size } = blocks[at] as SlotBlock;
    for (; from < size; from++) {
      if (keys[from] !== key) return;
      yield slots[from] as number;
    }
  }
}

/** The first entry behind the target. */
function seekBehind(blocks: readonly SlotBlock[], target: SeekTarget): BlockPosition {
  const position = seek(blocks, target);
  const { block, index } = position;
  const found = blocks[block];
  if (found === undefined || found.keys[index] !== target.key) return position;
  if (target.compare(found.slots[index] as number) !== 0) return position;
  return index + 1 < found.size ? { block, index: index + 1 } : { block: block + 1, index: 0 };
}

/** Moves to the entry before; false at the start. */
function stepBack(blocks: readonly SlotBlock[], position: BlockPosition): boolean {
  if (position.index > 0) position.index--;
  else if (position.block > 0) {
    position.block--;
    position.index = (blocks[position.block] as SlotBlock).size - 1;
  } else return false;
  return true;
}

function keyBefore(blocks: readonly SlotBlock[], { block, index }: BlockPosition): number {
  if (index > 0) return (blocks[block] as SlotBlock).keys[index - 1] as number;
  const previous = blocks[block - 1];
  return previous === undefined ? Number.NaN : (previous.keys[previous.size - 1] as number);
}

/** Most entries of a block. */
const BLOCK_SIZE = 512;

/** The key of a record without a value: sorts last in both directions. */
export const NO_KEY = Number.POSITIVE_INFINITY;

/**
 * Consecutive entries of a sorted sequence, which is a B+ tree of two levels. Keys are stored beside the slots, so a
 * search touches little memory, and the usual insertion (the newest key) appends to the last block.
 */
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
function seek(blocks: readonly SlotBlock[], target: SeekTarget): BlockPosition {
  if (blocks.length === 0) return { block: 0, index: 0 };
  const block = findBlock(blocks, target);
  const found = blocks[block] as SlotBlock;
  const index = lowerBound(found, target);
  return index < found.size ? { block, index } : { block: block + 1, index: 0 };
}

/** Inserts an entry; a full block is split. */
function insertEntry(blocks: SlotBlock[], target: SeekTarget, slot: number): void {
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
function removeEntry(blocks: SlotBlock[], target: SeekTarget, slot: number): boolean {
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
