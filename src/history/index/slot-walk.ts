import { NO_KEY, type SeekTarget, type SlotBlock } from './ordered-slots.ts';

/** Walks over slots in order. */
export interface SlotWalk {
  /** The slot it stands on; −1 behind the last. */
  slot: number;
  key: number;
  advance(): void;
}

type Seek = (target: SeekTarget) => { block: number; index: number };

/** Ascending keys, ascending ties. Blocks are never empty, so each step is at most one block further. */
export function walkUp(blocks: readonly SlotBlock[], seek: Seek, after: SeekTarget | null): SlotWalk {
  let { block, index } = after === null ? { block: 0, index: 0 } : seek(after);
  const walk: SlotWalk = { slot: -1, key: NO_KEY, advance };
  settle();
  if (after !== null && isAt(walk, after)) advance();
  return walk;

  function settle(): void {
    const current = blocks[block];
    walk.slot = current === undefined ? -1 : (current.slots[index] as number);
    walk.key = current === undefined ? NO_KEY : (current.keys[index] as number);
  }
  function advance(): void {
    if (++index >= (blocks[block]?.size ?? 0)) {
      block++;
      index = 0;
    }
    settle();
  }
}

/**
 * Descending keys, yet ascending ties: runs of equal keys are walked forwards, from the last run to
 * the first, and the run without a key comes after all others.
 */
export function walkDown(blocks: readonly SlotBlock[], seek: Seek, after: SeekTarget | null): SlotWalk {
  // Where the run that is walked begins.
  let block = 0;
  let index = 0;
  let run: SlotWalk | null = null;
  const walk: SlotWalk = { slot: -1, key: NO_KEY, advance };

  if (after === null) {
    ({ block, index } = seek(startOf(NO_KEY)));
    runBefore();
  } else {
    ({ block, index } = seek(startOf(after.key)));
    run = walkUp(blocks, seek, after);
    take(after.key);
  }
  return walk;

  /** Stands on the run's next slot if it still has this key, else on the run before it. */
  function take(key: number): void {
    if (run !== null && run.slot !== -1 && run.key === key) {
      walk.slot = run.slot;
      walk.key = key;
    } else if (key === NO_KEY) {
      run = null;
      walk.slot = -1;
    } else runBefore();
  }

  /** Moves to the run before (block, index). */
  function runBefore(): void {
    if (!stepBack()) {
      run = walkUp(blocks, seek, startOf(NO_KEY));
      take(NO_KEY);
      return;
    }
    const current = blocks[block] as SlotBlock;
    walk.key = current.keys[index] as number;
    walk.slot = current.slots[index] as number;
    run = null;
    if (keyBefore() !== walk.key) return; // a run of one, the usual case for times
    const target = startOf(walk.key);
    ({ block, index } = seek(target));
    run = walkUp(blocks, seek, target);
    take(walk.key);
  }

  function stepBack(): boolean {
    if (index > 0) index--;
    else if (block > 0) {
      block--;
      index = (blocks[block] as SlotBlock).size - 1;
    } else return false;
    return true;
  }

  function keyBefore(): number {
    if (index > 0) return (blocks[block] as SlotBlock).keys[index - 1] as number;
    const previous = blocks[block - 1];
    return previous === undefined ? Number.NaN : (previous.keys[previous.size - 1] as number);
  }

  function advance(): void {
    if (walk.slot === -1) return;
    if (run === null) {
      runBefore();
      return;
    }
    run.advance();
    take(walk.key);
  }
}

function isAt(walk: SlotWalk, target: SeekTarget): boolean {
  return walk.slot !== -1 && walk.key === target.key && target.compare(walk.slot) === 0;
}

/** The place before every slot of this key. */
function startOf(key: number): SeekTarget {
  return { key, compare: () => 1 };
}
