/**
 * Records when each node of a watched graph last changed, so that an update carries only the changes since a
 * cursor. It compares successive trees and needs nothing else from the source, so it works with any source.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { Task, TaskTree } from '../model.ts';
import { buildGraph } from './build-graph.ts';
import { formatGraphCursor, type GraphSince } from './graph-cursor.ts';
import type { Graph, GraphNode, GraphShape } from './graph-types.ts';

/** Options of {@link createGraphTracker}. */
export interface GraphTrackerOptions {
  /** Maximum number of graphs in memory, one per task id and limit. Default 500. */
  readonly maxGraphs?: number;
  /** Maximum number of nodes in memory, over all graphs. Default 200,000. */
  readonly maxNodes?: number;
  /**
   * Id that separates this process from others and from itself before a restart: 8 hexadecimal digits.
   * Default: random.
   */
  readonly instance?: string;
}

/** The changes after a cursor position. */
export interface GraphChanges {
  readonly nodes: readonly GraphNode[];
  readonly topologyChanged: boolean;
}

/** The state of one graph at one time. */
export interface GraphView {
  readonly graph: Graph;
  /** Cursor that stands for this state. */
  readonly cursor: string;
  /**
   * @param since `null` returns all nodes. A position that this instance does not know returns all nodes with
   *   `topologyChanged`
   */
  changesSince(since: GraphSince | null): GraphChanges;
  /**
   * Records that this state was sent with this `generated_at`, so that a client may send it back as `since`.
   * Call it for every answer, including an unchanged one that is sent again with a later `generated_at`.
   *
   * @param generatedAt milliseconds since 1970
   */
  issue(generatedAt: number): void;
}

/** Bounded memory of graphs; the least recently used graphs are evicted first. */
export interface GraphTracker {
  /** Builds the graph and records what changed since the last call. Call it for every tree that was read. */
  observe(taskId: string, limit: number, tree: TaskTree): GraphView;
}

interface Remembered {
  /** Numbers of the latest change and of the first change that is remembered. */
  sequence: number;
  first: number;
  /** Shape of the latest graph; `null` before the first one. */
  shape: GraphShape | null;
  /**
   * Per node, in the order of `shape.listed`: a fingerprint of the fields in an update, and the number of the
   * change that last altered it.
   */
  prints: string[];
  changedAt: number[];
  topology: string;
  topologyChangedAt: number;
  /** Number of the latest change by `generated_at`, oldest first. */
  issued: Map<number, number>;
}

/** Number of past answers per graph that can be found again by their `generated_at`. */
const MAX_ISSUED = 1_000;

/** Creates an empty tracker. One per router. */
export function createGraphTracker(options: GraphTrackerOptions = {}): GraphTracker {
  const { maxGraphs = 500, maxNodes = 200_000, instance = randomBytes(4).toString('hex') } = options;
  /** Least recently used first. */
  const graphs = new Map<string, Remembered>();
  let nodeCount = 0;
  /**
   * Shared by all graphs, so that a graph that was evicted and comes back does not issue the same cursors
   * again.
   */
  let lastSequence = 0;

  function recall(view: string): Remembered {
    const remembered = graphs.get(view) ?? {
      sequence: 0,
      first: lastSequence + 1,
      shape: null,
      prints: [],
      changedAt: [],
      topology: '',
      topologyChangedAt: 0,
      issued: new Map(),
    };
    graphs.delete(view);
    graphs.set(view, remembered);
    return remembered;
  }

  function forgetUnused(): void {
    for (const [view, { prints }] of graphs) {
      if (graphs.size <= 1 || (graphs.size <= maxGraphs && nodeCount <= maxNodes)) return;
      nodeCount -= prints.length;
      graphs.delete(view);
    }
  }

  /** @returns whether any node has changed */
  function comparePrints(
    { prints, changedAt }: Remembered,
    nodes: readonly GraphNode[],
    next: number,
  ): boolean {
    let changed = false;
    for (let index = 0; index < nodes.length; index += 1) {
      const print = printOf(nodes[index] as GraphNode);
      if (prints[index] === print) continue;
      prints[index] = print;
      changedAt[index] = next;
      changed = true;
    }
    return changed;
  }

  /** Moves the remembered fingerprints into the order of a new shape. New nodes count as changed. */
  function reorder(remembered: Remembered, shape: GraphShape): void {
    const { prints, changedAt } = remembered;
    const places = new Map(remembered.shape?.listed.map((id, index) => [id, index]));
    const before = shape.listed.map((id) => places.get(id) ?? -1);
    remembered.prints = before.map((place) => prints[place] ?? '');
    remembered.changedAt = before.map((place) => changedAt[place] ?? 0);
    remembered.shape = shape;
    nodeCount += remembered.prints.length - prints.length;
  }

  function compare(remembered: Remembered, graph: Graph): void {
    const next = lastSequence + 1;
    let changed = false;
    if (graph.shape !== remembered.shape) {
      const topology = topologyOf(graph);
      reorder(remembered, graph.shape);
      if (topology !== remembered.topology) {
        remembered.topology = topology;
        remembered.topologyChangedAt = next;
        changed = true;
      }
    }
    changed = comparePrints(remembered, graph.nodes, next) || changed;
    if (!changed) return;
    remembered.sequence = next;
    lastSequence = next;
  }

  return {
    observe(taskId, limit, tree) {
      const view = viewOf(taskId, limit);
      const remembered = recall(view);
      const graph = buildGraph(tree, taskId, limit, remembered.shape ?? undefined);
      compare(remembered, graph);
      forgetUnused();
      const { sequence, first, topologyChangedAt, issued } = remembered;
      // Keep this array: a later change replaces it, and this view must not see that change.
      const changedAt = remembered.changedAt;

      function place(since: GraphSince): number | null {
        if ('time' in since) return issued.get(since.time.getTime()) ?? null;
        const isHeld = since.instance === instance && since.view === view;
        return isHeld && since.sequence >= first && since.sequence <= sequence ? since.sequence : null;
      }

      return {
        graph,
        cursor: formatGraphCursor(instance, view, sequence),
        changesSince(since) {
          if (since === null) return { nodes: graph.nodes, topologyChanged: false };
          const after = place(since);
          // Sending too much is better than losing a change.
          if (after === null) return { nodes: graph.nodes, topologyChanged: true };
          return {
            nodes: graph.nodes.filter((_, index) => (changedAt[index] as number) > after),
            topologyChanged: topologyChangedAt > after,
          };
        },
        issue(generatedAt) {
          // Several answers may share one millisecond. Keep the oldest, so that no change between them is
          // lost.
          const before = issued.get(generatedAt);
          issued.set(generatedAt, before === undefined ? sequence : Math.min(before, sequence));
          if (issued.size <= MAX_ISSUED) return;
          for (const oldest of issued.keys()) {
            issued.delete(oldest);
            break;
          }
        },
      };
    },
  };
}

function viewOf(taskId: string, limit: number): string {
  return createHash('sha256').update(`${limit} ${taskId}`).digest('hex').slice(0, 12);
}

/** Frozen tasks only: they cannot change, and sources often return the same object again. */
const prints = new WeakMap<Task, string>();

/** Fingerprint of all fields that an update carries. */
function printOf({ task, members }: GraphNode): string {
  if (task === null) return JSON.stringify(members);
  const known = prints.get(task);
  if (known !== undefined) return known;
  try {
    const { state, runtime, retries, started, finished, worker } = task;
    const print = `${state}\n${runtime}\n${retries}\n${Number(started)}\n${Number(finished)}\n${worker}`;
    if (Object.isFrozen(task)) prints.set(task, print);
    return print;
  } catch {
    // An unreadable task is shown as one known only by reference.
    return 'unreadable';
  }
}

/**
 * Hash of the topology: the nodes with their kinds, which of them are known only by reference, and the edges.
 */
function topologyOf({ nodes, edges }: Graph): string {
  const hash = createHash('sha256');
  // Sorted, because a source may list the same tasks in another order.
  const shape = nodes.map(({ id, kind, task }) => `${JSON.stringify(id)}${kind}${task === null}`);
  for (const part of shape.sort()) hash.update(`${part}\n`);
  for (const id of edges.map((edge) => edge.id).sort()) hash.update(`${JSON.stringify(id)}\n`);
  return hash.digest('base64');
}
