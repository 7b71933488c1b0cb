/** The graph of a workflow, before it becomes JSON. */
import type { Task, TaskRelation } from '../model.ts';

/** Number of tasks per state bucket. */
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
}

/** Members of the virtual nodes. */
export interface GraphMembers {
  /** Member ids by group id. */
  readonly groups: ReadonlyMap<string, readonly string[]>;
  /** Ids of the header tasks by the id of the chord body. */
  readonly chords: ReadonlyMap<string, readonly string[]>;
}

/**
 * The part of a graph that does not depend on task states. While it is unchanged, it stays the same object.
 */
export interface GraphShape {
  /**
   * Links and kind of every task, in the order of the source. Everything else is computed from these and
   * `relations`.
   */
  readonly links: readonly Links[];
  readonly kinds: readonly GraphNode['kind'][];
  readonly relations: readonly TaskRelation[];
  /** Ids of all listed nodes, closest relatives of the requested task first. */
  readonly listed: readonly string[];
  readonly edges: readonly GraphEdge[];
  readonly members: GraphMembers;
  /** Whether the workflow has more nodes than are listed. */
  readonly isCut: boolean;
  /** Edges to tasks that no source has seen. */
  readonly unseen: readonly GraphEdge[];
}

/** The graph of a workflow. */
export interface Graph {
  readonly rootId: string;
  /** Closest relatives of the requested task first. */
  readonly nodes: readonly GraphNode[];
  /** Only edges whose two ends are both in `nodes`. */
  readonly edges: readonly GraphEdge[];
  /** Counts over all nodes that have a state, including those cut by the limit. */
  readonly counts: StateCounts;
  /** Whether the workflow is larger than the listed part. */
  readonly isTruncated: boolean;
  /** Whether every task of the workflow has ended and no other task is still expected. */
  readonly isComplete: boolean;
  readonly shape: GraphShape;
}
