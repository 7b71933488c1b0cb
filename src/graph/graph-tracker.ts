/**
 * Remembers when each node of the graphs that clients look at last changed, so that an update can tell
 * what has changed since. It compares answers and asks nothing of who gives them: any source will do.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { Task, TaskTree } from '../model.ts';
import { buildGraph } from './build-graph.ts';
import { formatGraphCursor, type GraphSince } from './graph-cursor.ts';
import type { Graph, GraphNode, GraphShape } from './graph-types.ts';

/** Bounds and surroundings of a tracker. */
export interface GraphTrackerOptions {
  /** Most graphs remembered, one per task id and limit. Default 500. */
  readonly maxGraphs?: number;
  /** Most nodes remembered over all graphs. Default 200,000. */
  readonly maxNodes?: number;
  /** Tells this instance from others, and from itself before a restart: 8 hexadecimal digits. Default: random. */
  readonly instance?: string;
}

/** What changed after a place. */
export interface GraphChanges {
  readonly nodes: readonly GraphNode[];
  readonly topologyChanged: boolean;
}

/** One state of one graph. */
export interface GraphView {
  readonly graph: Graph;
  /** For `cursor`. */
  readonly cursor: string;
  /** `null`: all nodes. A place that this instance cannot tell: all nodes, and the topology changed. */
  changesSince(since: GraphSince | null): GraphChanges;
  /**
   * To be called with every `generated_at` that is sent with this state, also when an unchanged answer is
   * sent again with a later one: only then can a client come back with it.
   *
   * @param generatedAt milliseconds since 1970
   */
  issue(generatedAt: number): void;
}

/** Remembers graphs, bounded, the ones not asked for longest ago forgotten first. */
export interface GraphTracker {
  /** Builds the graph, and notes what has changed since it was last seen. To be called for every tree that was read. */
  observe(taskId: string, limit: number, tree: TaskTree): GraphView;
}

interface Remembered {
  /** The last change seen, and the first one that is remembered. */
  sequence: number;
  first: number;
  /** Of the last graph; `null` before the first one. */
  shape: GraphShape | null;
  /** Of its nodes, in their order: what updates tell of each, and with which change that came. */
  prints: string[];
  changedAt: number[];
  topology: string;
  topologyChangedAt: number;
  /** With which change each `generated_at` was sent, the oldest first. */
  issued: Map<number, number>;
}

/** How many past answers of one graph can still be placed by their `generated_at`. */
const MAX_ISSUED = 1_000;

export function createGraphTracker(options: GraphTrackerOptions = {}): GraphTracker {
  const { maxGraphs = 500, maxNodes = 200_000, instance = randomBytes(4).toString('hex') } = options;
  /** In the order of use. */
  const graphs = new Map<string, Remembered>();
  let nodeCount = 0;
  /** Of all graphs, so that a graph that was forgotten does not issue the same cursors again. */
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

  /** Brings what is remembered into the order of another shape; nodes that are new count as changed. */
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
      // As of this view: later changes are of later ones.
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
          // Better too much than to lose a change.
          if (after === null) return { nodes: graph.nodes, topologyChanged: true };
          return {
            nodes: graph.nodes.filter((_, index) => (changedAt[index] as number) > after),
            topologyChanged: topologyChangedAt > after,
          };
        },
        issue(generatedAt) {
          // Of answers of one millisecond the oldest one counts: what changed in it comes after.
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

/** Of tasks that will not change: a source may give the same object again. */
const prints = new WeakMap<Task, string>();

/** What decides all that updates carry of a node. */
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
    // A host's task that cannot be read is shown as one that is known by its id alone.
    return 'unreadable';
  }
}

/** The shape: which nodes there are, of which kind, seen or only named, and the edges. */
function topologyOf({ nodes, edges }: Graph): string {
  const hash = createHash('sha256');
  // Sorted: a source may list the same tasks in another order.
  const shape = nodes.map(({ id, kind, task }) => `${JSON.stringify(id)}${kind}${task === null}`);
  for (const part of shape.sort()) hash.update(`${part}\n`);
  for (const id of edges.map((edge) => edge.id).sort()) hash.update(`${JSON.stringify(id)}\n`);
  return hash.digest('base64');
}
