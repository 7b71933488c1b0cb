/** Serializes relations, graphs and updates to graphs. */
import { type Graph, type GraphNode, relationsOf, type StateCounts } from '../graph.ts';
import type { Task, TaskTree } from '../model.ts';
import type { Redactor } from '../redact.ts';
import type {
  GraphBody,
  GraphNodeBody,
  GraphNodeUpdateBody,
  GraphUpdatesBody,
  RelationBody,
} from '../wire.ts';
import { isoTime } from './moments.ts';
import { figure, label, wellFormed, whole } from './scalars.ts';
import type { ShowText } from './shown-text.ts';
import { exceptionLine } from './traceback.ts';

/** The members of a graph body that do not depend on the time and source of the answer. */
export interface GraphParts {
  /** `meta` without `generated_at` and `cursor`. */
  readonly meta: Omit<GraphBody['meta'], 'generated_at' | 'cursor'>;
  readonly nodes: GraphBody['nodes'];
  readonly edges: GraphBody['edges'];
}

/** The members of a body of graph updates that do not depend on the time and source of the answer. */
export type UpdateParts = Omit<GraphUpdatesBody, 'generated_at' | 'cursor' | 'sources'>;

/** Serializes the relations of a tree; leaves out those without a child or a kind. */
export function relationBodies(tree: TaskTree): RelationBody[] {
  return relationsOf(tree).flatMap((given) => {
    const [child, relation] = [label(given.child), label(given.relation)];
    return child === null || relation === null ? [] : [{ parent: label(given.parent), child, relation }];
  });
}

/** Serializes a graph. */
export function graphParts(graph: Graph, show: ShowText, redactor: Redactor): GraphParts {
  return {
    meta: {
      root_id: wellFormed(graph.rootId),
      counts: countsBody(graph.counts),
      node_count: graph.nodes.length,
      edge_count: graph.edges.length,
      truncated: graph.isTruncated,
    },
    nodes: graph.nodes.map((node) => readable(node, (known) => nodeBody(known, show, redactor))),
    edges: graph.edges.map(({ id, source, target, kind }) => ({
      id: wellFormed(id),
      source: wellFormed(source),
      target: wellFormed(target),
      kind: wellFormed(kind),
    })),
  };
}

/** Serializes the changed nodes of a graph. */
export function updateParts(
  graph: Graph,
  { nodes, topologyChanged }: { readonly nodes: readonly GraphNode[]; readonly topologyChanged: boolean },
): UpdateParts {
  return {
    node_updates: nodes.map((node) => readable(node, nodeUpdate)),
    meta_counts: countsBody(graph.counts),
    topology_changed: topologyChanged,
    node_count: graph.nodes.length,
    edge_count: graph.edges.length,
    complete: graph.isComplete,
  };
}

/** A task whose getters throw stays in the graph as a task known only by reference. */
function readable<Body>(node: GraphNode, bodyOf: (node: GraphNode) => Body): Body {
  try {
    return bodyOf(node);
  } catch {
    return bodyOf({ ...node, task: null });
  }
}

function nodeBody(node: GraphNode, show: ShowText, redactor: Redactor): GraphNodeBody {
  const { task } = node;
  const { id, state, duration_ms, retries, started_at, finished_at, worker, members } = nodeUpdate(node);
  const parentId = label(task?.parentId);
  return {
    id,
    task_name: label(task?.name),
    state,
    started_at,
    finished_at,
    duration_ms,
    retries,
    queue: label(task?.queue),
    worker,
    args_preview: show(task?.args, 'args').text,
    kwargs_preview: show(task?.kwargs, 'kwargs').text,
    result_preview: show(task?.result, 'result').text,
    traceback_preview: exceptionLine(task?.traceback, show, redactor),
    stamps_preview: show(task?.stamps, 'stamps').text,
    parent_id: parentId === id ? null : parentId,
    root_id: label(task?.rootId),
    kind: node.kind,
    members,
  };
}

function nodeUpdate({ id, task, members }: GraphNode): GraphNodeUpdateBody {
  return {
    id: wellFormed(id),
    state: label(task?.state),
    duration_ms: task === null ? null : durationOf(task),
    retries: whole(task?.retries),
    started_at: isoTime(task?.started),
    finished_at: isoTime(task?.finished),
    worker: label(task?.worker),
    members: members === null ? null : countsBody(members),
  };
}

/** The engine's run time, else the time from start to finish. `null` when clock skew makes that negative. */
function durationOf({ runtime, started, finished }: Task): number | null {
  const seconds = figure(runtime);
  // Rounds to microseconds, the resolution of clocks. Without it 0.29 s would become 290.00000000000006 ms.
  if (seconds !== null) return figure(Math.round(seconds * 1_000_000) / 1_000);
  const [from, to] = [isoTime(started), isoTime(finished)];
  if (from === null || to === null || to < from) return null;
  return Date.parse(to) - Date.parse(from);
}

function countsBody({ total, pending, running, retry, success, failure, revoked }: StateCounts): StateCounts {
  return { total, pending, running, retry, success, failure, revoked };
}
