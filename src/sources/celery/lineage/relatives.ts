import { groupsOf, type PendingLinks } from './pending-links.ts';

/** Most tasks that one walk looks at. */
const MAX_VISITED = 5_000;

/**
 * Ids of tasks related to a task of which nothing else is known, the nearest first.
 *
 * @param isKnown whether more is known of a task than its id
 */
export function unknownRelatives(
  links: PendingLinks,
  id: string,
  limit: number,
  isKnown: (id: string) => boolean,
): string[] {
  const unknown: string[] = [];
  const seen = new Set([id]);
  const groupsSeen = new Set<string>();
  // The loop also visits the tasks that it adds.
  for (const current of seen) {
    if (unknown.length >= limit) break;
    for (const other of relativesOf(links, current, groupsSeen)) {
      if (seen.size >= MAX_VISITED || seen.has(other)) continue;
      seen.add(other);
      if (unknown.length < limit && !isKnown(other)) unknown.push(other);
    }
  }
  return unknown;
}

/** Tasks directly related to a task. The members and bodies of a group are named once in a walk. */
function* relativesOf(links: PendingLinks, id: string, groupsSeen: Set<string>): Generator<string, void> {
  const task = links.tasks.get(id);
  if (task === undefined) return;
  if (task.parent !== null) yield task.parent;
  if (task.expected?.parent != null) yield task.expected.parent;
  yield* task.children?.tasks ?? [];
  yield* task.announced?.next ?? [];
  yield* task.claims ?? [];
  for (const groupId of [task.group, task.headerGroup, ...groupsOf(task)]) {
    if (groupId === null || groupsSeen.has(groupId)) continue;
    groupsSeen.add(groupId);
    const group = links.groups.get(groupId);
    yield* group?.bodies ?? [];
    yield* group?.members ?? [];
  }
}
