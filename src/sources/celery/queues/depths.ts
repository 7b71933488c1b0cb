import type { QueueDepth } from '../../../model.ts';
import type { HeldMessage } from './held-message.ts';
import type { QueueList } from './queue-list.ts';
import type { QueueNames } from './queue-names.ts';

/**
 * How much work each queue has, by name. A queue that only the default names is left out while it is
 * empty.
 *
 * @param takenCount messages that workers have taken; `null` when nobody may see that
 * @param taken all of them; `null` when they were not read
 */
export function depthsOf(
  names: QueueNames,
  lists: readonly QueueList[],
  takenCount: number | null,
  taken: readonly HeldMessage[] | null,
): QueueDepth[] {
  const reserved = takenCount === 0 ? new Map<string, number>() : countByQueue(taken);
  const waiting = new Map<string, number | null>();
  for (const { queue, length, isRefused } of lists) {
    const sum = waiting.get(queue) ?? (waiting.has(queue) ? null : 0);
    waiting.set(queue, sum === null || isRefused() ? null : sum + length());
  }
  for (const queue of reserved?.keys() ?? []) if (!waiting.has(queue)) waiting.set(queue, 0);
  return [...waiting]
    .map(([name, messages]) => ({
      name,
      waiting: messages,
      reserved: reserved === null ? null : (reserved.get(name) ?? 0),
      consumers: null,
    }))
    .filter(({ name, waiting, reserved }) => waiting !== 0 || (reserved ?? 0) > 0 || names.isDeclared(name))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** @returns `null` when of one of them it cannot be told which queue it came from */
function countByQueue(taken: readonly HeldMessage[] | null): Map<string, number> | null {
  if (taken === null) return null;
  const counts = new Map<string, number>();
  for (const { facts } of taken) {
    if (facts === null) continue;
    if (facts.queue == null) return null;
    counts.set(facts.queue, (counts.get(facts.queue) ?? 0) + 1);
  }
  return counts;
}
