/** Walks from a task to all that belong to it. */
import type { Ledger } from './ledger.ts';

/** Most tasks that one walk looks at. */
const MAX_VISITED = 5_000;

/**
 * Ids around a task, nearest first, of which nothing is known but that they belong to it.
 *
 * @param isKnown whether more is known of a task than its id
 */
export function unknownAround(
  ledger: Ledger,
  id: string,
  limit: number,
  isKnown: (id: string) => boolean,
): string[] {
  const unknown: string[] = [];
  const seen = new Set([id]);
  const groupsSeen = new Set<string>();

  const reach = (other: string | null): void => {
    if (other === null || seen.size >= MAX_VISITED || seen.has(other)) return;
    seen.add(other);
    if (unknown.length < limit && !isKnown(other)) unknown.push(other);
  };
  const reachAll = (others: Iterable<string> | null): void => {
    for (const other of others ?? []) reach(other);
  };
  const reachGroup = (groupId: string | null): void => {
    if (groupId === null || groupsSeen.has(groupId)) return;
    groupsSeen.add(groupId);
    const group = ledger.findGroup(groupId);
    if (group === undefined) return;
    reachAll(group.bodies);
    reachAll(group.members.keys());
  };

  for (const current of seen) {
    if (unknown.length >= limit) break;
    const task = ledger.findTask(current);
    if (task === undefined) continue;
    reach(task.parent);
    reach(task.plan?.parent ?? null);
    reachAll(task.listed);
    reachAll(task.next);
    reachAll(task.claims);
    reachGroup(task.group);
    reachGroup(task.header);
    for (const groupId of task.groups ?? []) reachGroup(groupId);
  }
  return unknown;
}
