/** The graph of a workflow, before it becomes JSON. */
import type { Task, TaskRelation } from '../model.ts';

/** Tasks per bucket of states. */
export interface StateCounts {
  /** Sum of the others. */
  readonly total: number;
  /** PENDING and RECEIVED. */
  readonly pending: number;
  /** STARTED and every state not named here. */
  readonly running: number;
  readonly retry: number;
  readonly success: number;
  readonly failure: number;
  /** REVOKED and REJECTED. */
  readonly revoked: number;
}

/** `group` and `chord` are virtual nodes; the others are real tasks of that sort. */
export type GraphNodeKind = 'group' | 'chord' | 'map' | 'starmap' | 'chunks';

/** A task, a group, the body of a chord that has not been seen, or a task known only by reference. */
export interface GraphNode {
  /** Task id, or group id. */
  readonly id: string;
  /** `null`: a virtual node, or a task known only by reference. */
  readonly task: Task | null;
  readonly kind: GraphNodeKind | null;
  /** Of virtual nodes. */
  readonly members: StateCounts | null;
}

/** How two nodes belong together. */
export interface GraphEdge {
  /** `source->target:kind` */
  readonly id: string;
  readonly source: string;
  readonly target: string;
  readonly kind: string;
}

/** What a task says of its place in the workflow. */
export interface Links {
  readonly id: string;
  readonly parentId: string | null;
  readonly groupId: string | null;
  readonly chordId: string | null;
}

/** Who belongs to the virtual nodes. */
export interface GraphMembers {
  /** Members of groups by the group's id. */
  readonly groups: ReadonlyMap<string, readonly string[]>;
  /** Header tasks of chords by the body's id. */
  readonly chords: ReadonlyMap<string, readonly string[]>;
}

/** What of a graph does not depend on the states of its tasks; the same object while it has not changed. */
export interface GraphShape {
  /** Of every task in the source's order, with its sort: what the rest follows from. */
  readonly links: readonly Links[];
  readonly kinds: readonly GraphNode['kind'][];
  readonly relations: readonly TaskRelation[];
  /** Ids of all nodes, nearest relatives of the asked task first. */
  readonly listed: readonly string[];
  readonly edges: readonly GraphEdge[];
  readonly members: GraphMembers;
  /** Whether there are more nodes than are listed. */
  readonly isCut: boolean;
  /** Edges that lead to tasks that nobody has seen. */
  readonly unseen: readonly GraphEdge[];
}

/** The graph of a workflow. */
export interface Graph {
  readonly rootId: string;
  /** Nearest relatives of the asked task first. */
  readonly nodes: readonly GraphNode[];
  /** Both ends of each are in `nodes`. */
  readonly edges: readonly GraphEdge[];
  /** Of all nodes with a state, also those that the limit cut. */
  readonly counts: StateCounts;
  /** Whether the workflow is larger than what is listed. */
  readonly isTruncated: boolean;
  /** Whether every task of the workflow has ended. */
  readonly isComplete: boolean;
  readonly shape: GraphShape;
}
