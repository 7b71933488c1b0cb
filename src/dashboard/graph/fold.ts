/** Decides which tasks of a workflow share one node of the drawing. */
import type { GraphEdgeBody, GraphNodeBody } from '../../client.ts';
import { each, type Steps } from '../slices.ts';

/** Maximum number of siblings with the same name that are drawn separately. */
const MOST_SIBLINGS = 8;
/** Maximum number of readable nodes: above it, all equal siblings are folded, then all equal tasks of one depth. */
const MOST_DRAWN = 300;

type PlaceOf = (id: string) => string | undefined;

/**
 * Maps each folded node to the drawn node that represents it.
 *
 * @param expanded ids of folded nodes that the reader has opened
 */
export function* fold(
  nodes: readonly GraphNodeBody[],
  edges: readonly GraphEdgeBody[],
  expanded: ReadonlySet<string>,
): Steps<ReadonlyMap<string, string>> {
  const parentOf = new Map<string, string>();
  // For folding, a task's group is more useful than its sender.
  yield* each(edges, ({ source, target, kind }) => {
    // The parent in a flow runs after its children.
    const [parent, child] = kind === 'flow' ? [target, source] : [source, target];
    if (kind === 'group' || !parentOf.has(child)) parentOf.set(child, parent);
  });
  const parent: PlaceOf = (id) => parentOf.get(id);
  let siblings = yield* alike(nodes, parent, MOST_SIBLINGS);
  if (drawn(nodes, siblings) > MOST_DRAWN) siblings = yield* alike(nodes, parent, 1);
  if (drawn(nodes, siblings) > MOST_DRAWN) {
    const depths = yield* depthsOf(nodes, parentOf);
    siblings = yield* alike(nodes, (id) => (parentOf.has(id) ? `depth ${depths.get(id)}` : undefined), 1);
  }
  const drawnIdOf = new Map<string, string>();
  for (const [key, ids] of siblings) {
    if (expanded.has(key)) continue;
    yield* each(ids, (id) => drawnIdOf.set(id, key));
  }
  return drawnIdOf;
}

/** Tasks with the same name and place, if there are more than `most`. */
function* alike(
  nodes: readonly GraphNodeBody[],
  placeOf: PlaceOf,
  most: number,
): Steps<ReadonlyMap<string, readonly string[]>> {
  const siblings = new Map<string, string[]>();
  yield* each(nodes, ({ id, task_name, kind }) => {
    const place = placeOf(id);
    if (place === undefined || kind === 'group' || kind === 'chord') return;
    const key = `${place} × ${task_name}`;
    const others = siblings.get(key);
    if (others === undefined) siblings.set(key, [id]);
    else others.push(id);
  });
  return new Map([...siblings].filter(([, ids]) => ids.length > most));
}

const drawn = (nodes: readonly unknown[], siblings: ReadonlyMap<string, readonly string[]>): number =>
  [...siblings.values()].reduce((sum, ids) => sum - ids.length + 1, nodes.length);

/** Number of senders above each node. */
function* depthsOf(
  nodes: readonly GraphNodeBody[],
  parentOf: ReadonlyMap<string, string>,
): Steps<ReadonlyMap<string, number>> {
  const depths = new Map<string, number>();
  yield* each(nodes, ({ id }) => {
    const path = new Set<string>();
    let at: string | undefined = id;
    while (at !== undefined && !depths.has(at) && !path.has(at)) {
      path.add(at);
      at = parentOf.get(at);
    }
    const above = at === undefined ? -1 : (depths.get(at) ?? -1);
    [...path].toReversed().forEach((step, index) => void depths.set(step, above + 1 + index));
  });
  return depths;
}
