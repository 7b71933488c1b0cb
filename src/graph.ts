export type { Graph, GraphEdge, GraphNode, StateCounts } from './graph/graph-types.ts';
export { specificityOf } from './graph/relations.ts';
