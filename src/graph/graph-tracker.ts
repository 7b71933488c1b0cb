/**
 * Remembers when each node of the graphs that clients look at last changed, so that an update can tell
 * what has changed since. It compares answers and asks nothing of who gives them: any source will do.
 */
import { createHash, randomBytes } from 'node:crypto';
import { formatGraphCursor, type GraphSince } from './graph-cursor.ts';
import type { Graph, GraphNode } from './graph-types.ts';

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
  /** Notes what has changed since this graph was last seen. To be called for every graph that was read. */
  observe(taskId: string, limit: number, graph: Graph): GraphView;
}

interface Remembered {
  /** The last change seen, and the first one that is remembered. */
  sequence: number;
  first: number;
  nodes: Map<string, { print: string; changedAt: number }>;
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
      nodes: new Map(),
      topology: '',
      topologyChangedAt: 0,
      issued: new Map(),
    };
    graphs.delete(view);
    graphs.set(view, remembered);
    return remembered;
  }

  function forgetUnused(): void {
    for (const [view, { nodes }] of graphs) {
      if (graphs.size <= 1 || (graphs.size <= maxGraphs && nodeCount <= maxNodes)) return;
      nodeCount -= nodes.size;
      graphs.delete(view);
    }
  }

  function compare(remembered: Remembered, graph: Graph): void {
    const next = lastSequence + 1;
    const nodes: Remembered['nodes'] = new Map();
    let changed = false;
    for (const node of graph.nodes) {
      const print = printOf(node);
      const before = remembered.nodes.get(node.id);
      if (before?.print === print) nodes.set(node.id, before);
      else {
        nodes.set(node.id, { print, changedAt: next });
        changed = true;
      }
    }
    const topology = topologyOf(graph);
    if (topology !== remembered.topology) {
      remembered.topology = topology;
      remembered.topologyChangedAt = next;
      changed = true;
    }
    nodeCount += nodes.size - remembered.nodes.size;
    remembered.nodes = nodes;
    if (!changed) return;
    remembered.sequence = next;
    lastSequence = next;
  }

  return {
    observe(taskId, limit, graph) {
      const view = viewOf(taskId, limit);
      const remembered = recall(view);
      compare(remembered, graph);
      forgetUnused();
      const { sequence, first, nodes, topologyChangedAt, issued } = remembered;

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
            nodes: graph.nodes.filter(({ id }) => (nodes.get(id)?.changedAt ?? sequence) > after),
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

/** What decides all that updates carry of a node. */
function printOf({ task, members }: GraphNode): string {
  if (task === null) return JSON.stringify(members);
  try {
    const { state, runtime, retries, started, finished, worker } = task;
    return `${state}\n${runtime}\n${retries}\n${Number(started)}\n${Number(finished)}\n${worker}`;
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
