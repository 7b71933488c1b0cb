/**
 * Record numbers ("slots") sorted by a numeric key, ties by id, for indexes of a million records: insertion,
 * removal and seeking cost the logarithm of the size, and a page costs what it holds.
 */
import {
  type BlockPosition,
  beforeKey,
  insertEntry,
  NO_KEY,
  removeEntry,
  type SeekTarget,
  type SlotBlock,
  seek,
} from './slot-blocks.ts';

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
export function* walkUp(blocks: readonly SlotBlock[], after: SeekTarget | null): Generator<number> {
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
export function* walkDown(blocks: readonly SlotBlock[], after: SeekTarget | null): Generator<number> {
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
