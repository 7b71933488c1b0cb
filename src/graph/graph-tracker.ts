/** Remembers when each node of the graphs that clients look at last changed. */
import type { GraphSince } from './graph-cursor.ts';
import type { Graph, GraphNode } from './graph-types.ts';

/** Bounds and surroundings of a tracker. */
export interface GraphTrackerOptions {
  /** Most graphs remembered, one per task id and limit. Default 500. */
  readonly maxGraphs?: number;
  /** Most nodes remembered over all graphs. Default 200,000. */
  readonly maxNodes?: number;
  /** Milliseconds since 1970. Default `Date.now`. */
  readonly now?: () => number;
  /** Tells this instance from others, and from itself before a restart. Default: random. */
  readonly instance?: string;
}

/** What changed after a place. */
export interface GraphChanges {
  readonly nodes: readonly GraphNode[];
  readonly topologyChanged: boolean;
}

/** One state of one graph. */
export interface GraphView {
  readonly graph: Graph;
  /** For `cursor`. */
  readonly cursor: string;
  /** `null`: all nodes. A place that this instance cannot tell: all nodes, and the topology changed. */
  changesSince(since: GraphSince | null): GraphChanges;
  /**
   * To be called with every `generated_at` that is sent with this state, also when an unchanged answer is
   * sent again with a later one: only then can a client come back with it.
   *
   * @param generatedAt milliseconds since 1970
   */
  issue(generatedAt: number): void;
}

/** Remembers graphs, bounded, the ones not asked for longest ago forgotten first. */
export interface GraphTracker {
  /** Notes what has changed since this graph was last seen. To be called for every graph that was read. */
  observe(taskId: string, limit: number, graph: Graph): GraphView;
}

export function createGraphTracker(options: GraphTrackerOptions = {}): GraphTracker {
  void options;
  return {
    observe: (_taskId, _limit, graph) => ({
      graph,
      cursor: '',
      changesSince: () => ({ nodes: graph.nodes, topologyChanged: false }),
      issue() {},
    }),
  };
}
