export { specificityOf } from './graph/build-graph.ts';
export {
  createGraphTracker,
  type GraphSince,
  type GraphTracker,
  type GraphTrackerOptions,
  type GraphView,
  parseGraphCursor,
} from './graph/graph-tracker.ts';
export type { Graph, GraphEdge, GraphNode, StateCounts } from './graph/graph-types.ts';
