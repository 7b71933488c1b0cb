/** Bodies that describe workflows: relations, the graph, updates to the graph. */
import type { Integer, SourceBody, Timestamp } from './common.ts';
import type { TaskBody } from './tasks.ts';

/** One relation between two tasks. */
export interface RelationBody {
  /** A task id. For `group` it is the group id. */
  parent: string | null;
  child: string;
  /** `chain group chord map starmap chunks link link_error child flow`, or the engine's own name, verbatim. */
  relation: string;
}

/** `GET /api/tasks/{task_id}/relations/` */
export interface RelationsBody {
  task_id: string;
  /** Root id of the requested task; its own id if it has none. */
  root_id: string;
  /** Every relation in the workflow of that task, without duplicates. */
  relations: RelationBody[];
  sources: SourceBody[];
}

/** Number of tasks per state bucket. A task with the flag `end_unseen` or `consequence` is in none of them. */
export interface StateCountsBody {
  /** Sum of all buckets. */
  total: Integer;
  /** PENDING and RECEIVED. */
  pending: Integer;
  /** STARTED and every state that no other bucket covers. */
  running: Integer;
  retry: Integer;
  success: Integer;
  failure: Integer;
  /** REVOKED and REJECTED. */
  revoked: Integer;
}

/** One node of the graph. */
export interface GraphNodeBody {
  /** Task id or group id. */
  id: string;
  task_name: string | null;
  /** `null` for a virtual node and for a task known only by reference. */
  state: string | null;
  /** The engine's own word for the state, where it distinguishes more; `null` elsewhere. */
  engine_state: string | null;
  flags: TaskBody['flags'];
  sent_at: Timestamp | null;
  /** When a worker received the last attempt. */
  received_at: Timestamp | null;
  /** Not to be started before. */
  eta: Timestamp | null;
  started_at: Timestamp | null;
  finished_at: Timestamp | null;
  /** The engine's run time; without it, `finished_at` minus `started_at`. */
  duration_ms: number | null;
  /** How long the last attempt waited for its start: `wait_seconds` of the task. */
  wait_ms: number | null;
  retries: Integer | null;
  queue: string | null;
  worker: string | null;
  args_preview: string | null;
  kwargs_preview: string | null;
  result_preview: string | null;
  /** The line of the traceback that has the exception. */
  traceback_preview: string | null;
  stamps_preview: string | null;
  parent_id: string | null;
  root_id: string | null;
  /** `group` and `chord` are virtual nodes; `map`, `starmap` and `chunks` are real tasks of that kind. */
  kind: 'group' | 'chord' | 'map' | 'starmap' | 'chunks' | null;
  /** State counts of the members of a virtual node; `null` on real tasks. */
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
    /** Send it as `since` to `graph/updates/`. */
    cursor: string;
    /** Counts over all tasks of the workflow, including those cut by `limit`. */
    counts: StateCountsBody;
    /** Number of listed nodes. */
    node_count: Integer;
    edge_count: Integer;
    /** True when the workflow is larger than the listed part. */
    truncated: boolean;
  };
  nodes: GraphNodeBody[];
  edges: GraphEdgeBody[];
  sources: SourceBody[];
}

/** The fields of a node that can change. */
export interface GraphNodeUpdateBody {
  id: string;
  state: string | null;
  engine_state: string | null;
  flags: TaskBody['flags'];
  duration_ms: number | null;
  wait_ms: number | null;
  retries: Integer | null;
  sent_at: Timestamp | null;
  received_at: Timestamp | null;
  eta: Timestamp | null;
  started_at: Timestamp | null;
  finished_at: Timestamp | null;
  worker: string | null;
  members: StateCountsBody | null;
}

/** `GET /api/tasks/{task_id}/graph/updates/` */
export interface GraphUpdatesBody {
  generated_at: Timestamp;
  /** Send it as `since` in the next request. */
  cursor: string;
  /** Nodes that changed after `since`; without `since`, all nodes. */
  node_updates: GraphNodeUpdateBody[];
  meta_counts: StateCountsBody;
  /** True when a node or edge was added, removed or changed its kind. Read the whole graph again. */
  topology_changed: boolean;
  node_count: Integer;
  edge_count: Integer;
  /** True once every task of the workflow has ended. */
  complete: boolean;
  sources: SourceBody[];
}
