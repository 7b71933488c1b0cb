/** Bodies that tell how tasks belong together: relations, the graph, its updates. */
import type { Integer, SourceBody, Timestamp } from './common.ts';

/** One relation. */
export interface RelationBody {
  /** A task id, or for `group` the group's id. */
  parent: string | null;
  child: string;
  /** `chain group chord map starmap chunks link link_error child`, or verbatim what the engine calls it. */
  relation: string;
}

/** `GET /api/tasks/{task_id}/relations/` */
export interface RelationsBody {
  task_id: string;
  /** The asked task's own root id, or its id. */
  root_id: string;
  /** Every relation in the workflow of that task, each once. */
  relations: RelationBody[];
  sources: SourceBody[];
}

/** Tasks per bucket of states. */
export interface StateCountsBody {
  /** Sum of the others. */
  total: Integer;
  /** PENDING and RECEIVED. */
  pending: Integer;
  /** STARTED and every state not named here. */
  running: Integer;
  retry: Integer;
  success: Integer;
  failure: Integer;
  /** REVOKED and REJECTED. */
  revoked: Integer;
}

/** One node of the graph. */
export interface GraphNodeBody {
  /** Task id, or group id. */
  id: string;
  task_name: string | null;
  /** `null`: a virtual node, or a task known only by reference. */
  state: string | null;
  started_at: Timestamp | null;
  finished_at: Timestamp | null;
  /** The engine's run time, else `finished_at` less `started_at`. */
  duration_ms: number | null;
  retries: Integer | null;
  queue: string | null;
  worker: string | null;
  args_preview: string | null;
  kwargs_preview: string | null;
  result_preview: string | null;
  /** The end of the traceback: the exception's line. */
  traceback_preview: string | null;
  stamps_preview: string | null;
  parent_id: string | null;
  root_id: string | null;
  /** `group` and `chord`: virtual nodes; `map`, `starmap`, `chunks`: real tasks of that sort. */
  kind: 'group' | 'chord' | 'map' | 'starmap' | 'chunks' | null;
  /** Of virtual nodes; `null` on real tasks. */
  members: StateCountsBody | null;
}

/** One edge of the graph. */
export interface GraphEdgeBody {
  /** `source->target:kind` */
  id: string;
  source: string;
  target: string;
  kind: string;
}

/** `GET /api/tasks/{task_id}/graph/` */
export interface GraphBody {
  meta: {
    root_id: string;
    generated_at: Timestamp;
    /** Give it as `since` to `graph/updates/`. */
    cursor: string;
    /** Of all nodes with a state, also those that `limit` cut. */
    counts: StateCountsBody;
    /** Of what is listed. */
    node_count: Integer;
    edge_count: Integer;
    /** True when the workflow is larger than what is listed. */
    truncated: boolean;
  };
  nodes: GraphNodeBody[];
  edges: GraphEdgeBody[];
  sources: SourceBody[];
}

/** What may change of a node. */
export interface GraphNodeUpdateBody {
  id: string;
  state: string | null;
  duration_ms: number | null;
  retries: Integer | null;
  started_at: Timestamp | null;
  finished_at: Timestamp | null;
  worker: string | null;
  members: StateCountsBody | null;
}

/** `GET /api/tasks/{task_id}/graph/updates/` */
export interface GraphUpdatesBody {
  generated_at: Timestamp;
  /** Give it as the next `since`. */
  cursor: string;
  /** Nodes that changed after `since`; all of them without it. */
  node_updates: GraphNodeUpdateBody[];
  meta_counts: StateCountsBody;
  /** True when a node or an edge came, went or changed its kind: read the graph again. */
  topology_changed: boolean;
  node_count: Integer;
  edge_count: Integer;
  /** True once every task of the workflow has ended. */
  complete: boolean;
  sources: SourceBody[];
}
