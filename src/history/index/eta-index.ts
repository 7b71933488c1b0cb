/** Tasks that wait for their eta, by that time: only these can become overdue. */
import { type CompareSlots, createOrderedSlots } from './ordered-slots.ts';
import { behindKey } from './slot-blocks.ts';

/** The index. Times in milliseconds. */
export interface EtaIndex {
  /** @param eta `null`: the task waits for none */
  set(slot: number, eta: number | null): void;
  remove(slot: number): void;
  /** The next eta after a moment; `Infinity` when there is none. */
  nextAfter(moment: number): number;
}

/** @param compare order of slots with equal times */
export function createEtaIndex(compare: CompareSlots): EtaIndex {
  const order = createOrderedSlots(compare);
  const etas = new Map<number, number>();

  function remove(slot: number): void {
    if (etas.size === 0) return;
    const eta = etas.get(slot);
    if (eta === undefined) return;
    order.remove(eta, slot);
    etas.delete(slot);
  }

  return {
    remove,
    set(slot, eta) {
      remove(slot);
      if (eta === null) return;
      order.insert(eta, slot);
      etas.set(slot, eta);
    },
    nextAfter(moment) {
      for (const slot of order.walk('asc', behindKey(moment))) return etas.get(slot) as number;
      return Number.POSITIVE_INFINITY;
    },
  };
}
