/** Walks over sorted blocks of slots. A walk is valid until the blocks change. */
import {
  type BlockPosition,
  beforeKey,
  NO_KEY,
  type SeekTarget,
  type SlotBlock,
  seek,
} from './slot-blocks.ts';

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
