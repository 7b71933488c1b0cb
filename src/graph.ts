export { buildGraph } from './graph/build-graph.ts';
export type { Graph, GraphEdge, GraphNode, StateCounts } from './graph/graph-types.ts';
export { specificityOf } from './graph/relations.ts';
