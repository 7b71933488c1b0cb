import type { GraphEdgeBody, GraphNodeBody } from '../../wire.ts';
import { isConsequence } from './node-state.ts';

/** Relations to a preceding task on which a task waits. */
const BEHIND: ReadonlySet<string> = new Set(['chain', 'link', 'chord']);
const STOPPED: ReadonlySet<string> = new Set(['FAILURE', 'REVOKED', 'REJECTED']);

/**
 * Ids of the tasks that never ran: unseen tasks after one that ended without success, or after any task if all have
 * ended; and consequences.
 */
export function neverRan(
  nodes: readonly GraphNodeBody[],
  edges: readonly GraphEdgeBody[],
  isComplete: boolean,
): ReadonlySet<string> {
  const unseen = new Set(
    nodes.filter(({ state, kind }) => state === null && kind !== 'group').map(({ id }) => id),
  );
  const behind = new Map<string, string[]>();
  const idle = new Set(nodes.filter(isConsequence).map(({ id }) => id));
  for (const { source, target, kind } of edges) {
    if (!BEHIND.has(kind) || !unseen.has(target)) continue;
    if (isComplete) idle.add(target);
    const others = behind.get(source);
    if (others === undefined) behind.set(source, [target]);
    else others.push(target);
  }
  const stopped = [
    ...idle,
    ...nodes.filter(({ state }) => state !== null && STOPPED.has(state)).map(({ id }) => id),
  ];
  for (let id = stopped.pop(); id !== undefined; id = stopped.pop()) {
    for (const next of behind.get(id) ?? []) {
      if (!idle.has(next)) stopped.push(next);
      idle.add(next);
    }
  }
  return idle;
}
