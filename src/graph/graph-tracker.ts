/** Remembers the graphs of workflows, so that an update carries only the changes since a cursor. */
import { createHash, randomBytes } from 'node:crypto';
import { createLruCache, type LruCache } from '../lru-cache.ts';
import type { TaskTree } from '../model.ts';
import type { Steps } from '../scheduler.ts';
import { buildGraph } from './build-graph.ts';
import { findChanges, type GraphChanges } from './graph-changes.ts';
import { formatGraphCursor, type GraphSince } from './graph-cursor.ts';
import type { Graph, GraphNode } from './graph-types.ts';

/** Options of {@link createGraphTracker}. */
export interface GraphTrackerOptions {
  /** Maximum number of nodes of one graph. Default 20,000. */
  readonly most?: number;
  /** Maximum number of graphs in memory, one per task id. Default 500. */
  readonly maxGraphs?: number;
  /** Maximum number of tasks and other nodes in memory, over all graphs. Default 200,000. */
  readonly maxNodes?: number;
  /**
   * Id that distinguishes this process from others and from its previous runs: 8 hexadecimal digits.
   * Default: random.
   */
  readonly instance?: string;
}

/** The state of one graph at one time, for every node limit. */
export interface GraphView {
  readonly graph: Graph;
  /** Cursor for this state at a node limit. */
  cursor(limit: number): string;
  /**
   * Finds the changes that a graph with this node limit shows.
   *
   * @param since `null` returns all nodes. A position that this instance does not know at this limit returns
   *   all nodes with `topologyChanged`
   */
  changesSince(
    since: GraphSince | null,
    limit: number,
  ): { readonly nodes: readonly GraphNode[]; readonly topologyChanged: boolean };
  /**
   * Records that this state was sent with this `generated_at`, so that a client may send it back as `since`.
   * Call it for every answer, including an unchanged one that is sent again with a later `generated_at`.
   *
   * @param generatedAt milliseconds since 1970
   */
  issue(generatedAt: number, limit: number): void;
}

/** Bounded memory of graphs; the least recently used graphs are evicted first. */
export interface GraphTracker {
  /**
   * Builds the graph and records what changed since the last call. Call it for every tree that was read, and
   * not again for the same task before the steps have ended.
   */
  observe(taskId: string, tree: TaskTree): Steps<GraphView>;
}

interface Remembered {
  readonly changes: GraphChanges;
  /** Number of the latest change by node limit and `generated_at`, oldest first. */
  readonly issued: Map<string, number>;
}

interface TrackerState {
  readonly graphs: LruCache<Remembered>;
  readonly instance: string;
  readonly most: number;
  /**
   * Shared by all graphs, so that a graph that was evicted and is built again does not issue the same cursors
   * again.
   */
  lastChange: number;
}

/** Number of past answers per graph that can be found by their `generated_at`. */
const MAX_ISSUED = 1_000;

/** Creates an empty tracker. One per router. */
export function createGraphTracker(options: GraphTrackerOptions = {}): GraphTracker {
  const { most = 20_000, maxGraphs = 500, maxNodes = 200_000 } = options;
  const state: TrackerState = {
    graphs: createLruCache({
      entries: maxGraphs,
      bytes: maxNodes,
      // The latest graph is always kept, regardless of its size.
      sizeOf: ({ changes: { shape } }) =>
        Math.min(maxNodes, Math.max(shape.links.length, shape.nodes.length)),
    }),
    instance: options.instance ?? randomBytes(4).toString('hex'),
    most,
    lastChange: 0,
  };
  return { observe: (taskId, tree) => observe(state, taskId, tree) };
}

function* observe(state: TrackerState, taskId: string, tree: TaskTree): Steps<GraphView> {
  const before = state.graphs.get(taskId);
  const graph = yield* buildGraph(tree, taskId, state.most, before?.changes.shape);
  state.lastChange += 1;
  const changes = yield* findChanges(graph, before?.changes ?? null, state.lastChange);
  const remembered = { changes, issued: before?.issued ?? new Map<string, number>() };
  state.graphs.set(taskId, remembered);
  return viewOf(state.instance, taskId, graph, remembered);
}

function viewOf(instance: string, taskId: string, graph: Graph, { changes, issued }: Remembered): GraphView {
  const { latest, first, changedAt, topologyChangedAt } = changes;
  const nameOf = (limit: number): string =>
    createHash('sha256').update(`${limit} ${taskId}`).digest('hex').slice(0, 12);

  function find(since: GraphSince, limit: number): number | null {
    if ('time' in since) return issued.get(`${limit} ${since.time.getTime()}`) ?? null;
    const { sequence } = since;
    const isHeld = since.instance === instance && since.view === nameOf(limit);
    return isHeld && sequence >= first && sequence <= latest ? sequence : null;
  }

  return {
    graph,
    cursor: (limit) => formatGraphCursor(instance, nameOf(limit), latest),
    changesSince(since, limit) {
      const nodes = graph.nodes.slice(0, limit);
      if (since === null) return { nodes, topologyChanged: false };
      const after = find(since, limit);
      // Sending too much is better than missing a change.
      if (after === null) return { nodes, topologyChanged: true };
      const topologyAt = topologyChangedAt[Math.min(limit, topologyChangedAt.length - 1)] as number;
      return {
        nodes: nodes.filter((_, index) => (changedAt[index] as number) > after),
        topologyChanged: topologyAt > after,
      };
    },
    issue(generatedAt, limit) {
      // Several answers may share one millisecond. Keep the oldest, so that no change between them is lost.
      const key = `${limit} ${generatedAt}`;
      issued.set(key, Math.min(latest, issued.get(key) ?? latest));
      const [oldest] = issued.keys();
      if (issued.size > MAX_ISSUED && oldest !== undefined) issued.delete(oldest);
    },
  };
}
