/** The graph of a workflow, before it becomes JSON. */
import type { Task, TaskRelation } from '../model.ts';

/** Number of tasks per state bucket. Tasks with the flag `end_unseen` or `consequence` are in none of them. */
export interface StateCounts {
  /** Sum of all buckets. */
  readonly total: number;
  /** PENDING and RECEIVED. */
  readonly pending: number;
  /** STARTED and every state that no other bucket covers. */
  readonly running: number;
  readonly retry: number;
  readonly success: number;
  readonly failure: number;
  /** REVOKED and REJECTED. */
  readonly revoked: number;
}

/** `group` and `chord` are virtual nodes; the others are real tasks of that kind. */
export type GraphNodeKind = 'group' | 'chord' | 'map' | 'starmap' | 'chunks';

/** A task, a group, the body of a chord that no source has seen, or a task known only by reference. */
export interface GraphNode {
  /** Task id or group id. */
  readonly id: string;
  /** `null` for a virtual node and for a task known only by reference. */
  readonly task: Task | null;
  readonly kind: GraphNodeKind | null;
  /** State counts of the members of a virtual node; `null` on real tasks. */
  readonly members: StateCounts | null;
}

/** How two nodes are related. */
export interface GraphEdge {
  /** `source->target:kind` */
  readonly id: string;
  readonly source: string;
  readonly target: string;
  readonly kind: string;
}

/** The fields of a task that place it in a workflow. */
export interface Links {
  readonly id: string;
  readonly parentId: string | null;
  readonly groupId: string | null;
  readonly chordId: string | null;
  readonly kind: GraphNodeKind | null;
}

/** A task whose id, state and links are readable. */
export interface ReadableTask {
  readonly task: Task;
  readonly state: string;
  readonly links: Links;
  /** `null`: unknown. */
  readonly rootId: string | null;
  /** Whether it has ended, although no message reported how. */
  readonly isEndUnseen: boolean;
  /** Whether it never ran, and failed because another task did. */
  readonly isConsequence: boolean;
}

/** A node without the state of its task. */
export interface ShapeNode {
  readonly id: string;
  readonly kind: GraphNodeKind | null;
  /** Ids of the members of a virtual node; `null` on all others. */
  readonly members: readonly string[] | null;
}

/** An edge, and the smallest node limit that lists both of its ends. */
export interface ShapeEdge extends GraphEdge {
  readonly limit: number;
}

/**
 * The part of a graph that does not depend on task states. While it is unchanged, it stays the same object.
 */
export interface GraphShape {
  /**
   * Links of every task by id, and relations as the source lists them. Everything else is computed from these.
   */
  readonly links: ReadonlyMap<string, Links>;
  readonly listedRelations: readonly TaskRelation[];
  /** Every relation of the workflow, without duplicates. */
  readonly relations: readonly TaskRelation[];
  /** Closest relatives of the requested task first, at most as many as the host allows. */
  readonly nodes: readonly ShapeNode[];
  /** Edges between these nodes. */
  readonly edges: readonly ShapeEdge[];
  /** Number of edges listed at each node limit, from 0 to the number of nodes. */
  readonly edgeCounts: Uint32Array;
  /** Whether the workflow has further nodes. */
  readonly isCut: boolean;
  /** Edges to tasks that no source has seen. */
  readonly unseen: readonly GraphEdge[];
}

/** The graph of a workflow as seen from one task. It serves every node limit. */
export interface Graph {
  readonly rootId: string;
  /** Every task of the workflow, listed or not. */
  readonly tasks: ReadonlyMap<string, ReadableTask>;
  /** The nodes of the shape, with their tasks. */
  readonly nodes: readonly GraphNode[];
  /** Counts over all nodes that have a state, listed or not. */
  readonly counts: StateCounts;
  /** Whether the source omitted a part of the workflow. */
  readonly isPartial: boolean;
  /** Whether every task of the workflow has ended and no other task is still expected. */
  readonly isComplete: boolean;
  readonly shape: GraphShape;
}
