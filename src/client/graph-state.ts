/** Applies updates to a graph. */
import type { GraphBody, GraphUpdatesBody } from '../wire.ts';

/** A graph with all updates applied so far. */
export interface GraphState extends GraphBody {
  /** True once every task of the workflow has ended. */
  readonly complete: boolean;
}

/**
 * Applies updates that did not change the topology. After `topology_changed`, read the whole graph again.
 *
 * @returns a new object, in which unchanged nodes are the same objects as before
 */
export function applyGraphUpdates(graph: GraphBody, updates: GraphUpdatesBody): GraphState {
  const changed = new Map(updates.node_updates.map((update) => [update.id, update]));
  return {
    meta: {
      ...graph.meta,
      generated_at: updates.generated_at,
      cursor: updates.cursor,
      counts: updates.meta_counts,
      node_count: updates.node_count,
      edge_count: updates.edge_count,
    },
    nodes: graph.nodes.map((node) => {
      const update = changed.get(node.id);
      return update === undefined ? node : { ...node, ...update };
    }),
    edges: graph.edges,
    sources: updates.sources,
    complete: updates.complete,
  };
}
