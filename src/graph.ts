export { buildGraph, isComplete } from './graph/build-graph.ts';
export type { Graph, GraphNode, StateCounts } from './graph/graph-types.ts';
export { relationsOf } from './graph/relations.ts';
