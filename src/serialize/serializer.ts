/** The only bridge from the model to the wire: nulls, previews and redaction happen here. */
import type { Graph, GraphNode } from '../graph.ts';
import type { Component, Schedule, Task, TaskDetail, TaskEvent, TaskTree, Worker } from '../model.ts';
import type { Redactor } from '../redact.ts';
import type { TaskStats } from '../source.ts';
import type {
  ComponentBody,
  EventBody,
  GraphBody,
  GraphUpdatesBody,
  RelationBody,
  ScheduleBody,
  TaskBody,
  TaskDetailBody,
  TaskStatsBody,
  WorkerBody,
} from '../wire.ts';

/** What a serializer is made of. */
export interface SerializerOptions {
  readonly redactor: Redactor;
  /** Longest text of a value in lists and graphs, in characters. Default 256. */
  readonly preview?: number;
  /** Longest text of a value elsewhere, in characters. Default 65,536. */
  readonly detail?: number;
}

/** A graph but for the moment it is answered at and where it came from. */
export interface GraphParts {
  /** Without `generated_at` and `cursor`. */
  readonly meta: Omit<GraphBody['meta'], 'generated_at' | 'cursor'>;
  readonly nodes: GraphBody['nodes'];
  readonly edges: GraphBody['edges'];
}

/** Graph updates but for the moment they are answered at, the cursor, and where they came from. */
export type UpdateParts = Omit<GraphUpdatesBody, 'generated_at' | 'cursor' | 'sources'>;

/**
 * Turns what sources give into what clients get. Every method takes anything: what is not of its type is
 * shown as `null`, and an item without what it cannot do without (an id, a state …) gives `null`.
 */
export interface Serializer {
  /** A row of the task list. `null` when it has no id or no state. */
  taskRow(task: Task, source: string): TaskBody | null;
  /** The same row as JSON text. A row of the same frozen object and source is made once. */
  taskRowJson(task: Task, source: string): string | null;
  taskDetail(task: TaskDetail, source: string): Omit<TaskDetailBody, 'sources'> | null;
  /** `null` when the figures are no figures. */
  stats(stats: TaskStats): TaskStatsBody | null;
  relations(tree: TaskTree): RelationBody[];
  graph(graph: Graph): GraphParts;
  updates(graph: Graph, changes: { nodes: readonly GraphNode[]; topologyChanged: boolean }): UpdateParts;
  /** `null` when it has no hostname or no status. */
  worker(worker: Worker, source: string, now: Date): WorkerBody | null;
  /** `null` when it has no id or no type. */
  event(event: TaskEvent): EventBody | null;
  /** `null` when it has no id or no name. */
  schedule(schedule: Schedule, source: string): ScheduleBody | null;
  /** `null` when it has no key, no name or no status. */
  component(component: Component): ComponentBody | null;
  /** A sentence that a source chose to show, redacted and cut. */
  sentence(text: string): string;
  /**
   * A function that tells whether a task has a text in its id, name, worker, args or kwargs as a list row
   * shows them.
   *
   * @param q lower case
   */
  matcher(q: string): (task: Task) => boolean;
}

export function createSerializer(options: SerializerOptions): Serializer {
  void options;
  const none = (): null => null;
  return {
    taskRow: none,
    taskRowJson: none,
    taskDetail: none,
    stats: none,
    relations: () => [],
    graph: (graph) => ({
      meta: {
        root_id: graph.rootId,
        counts: { ...graph.counts },
        node_count: 0,
        edge_count: 0,
        truncated: false,
      },
      nodes: [],
      edges: [],
    }),
    updates: (graph, { topologyChanged }) => ({
      node_updates: [],
      meta_counts: { ...graph.counts },
      topology_changed: topologyChanged,
      node_count: 0,
      edge_count: 0,
      complete: graph.isComplete,
    }),
    worker: none,
    event: none,
    schedule: none,
    component: none,
    sentence: (text) => text,
    matcher: () => () => false,
  };
}
