/** Remembers the graphs of workflows, so that an update carries only the changes since a cursor. */
import { createHash, randomBytes } from 'node:crypto';
import { decodeCursor, encodeCursor, isForeignCursor } from '../cursor.ts';
import { createLruCache } from '../lru-cache.ts';
import { flagsOf, type Task, type TaskTree } from '../model.ts';
import type { Steps } from '../scheduler.ts';
import { buildGraph } from './build-graph.ts';
import type { Graph, GraphNode, GraphShape } from './graph-types.ts';
import { ITEMS_PER_STEP } from './readable-tree.ts';

/** The parameter `since`: a cursor position, or the `generated_at` of an earlier answer. */
export type GraphSince =
  | { readonly instance: string; readonly view: string; readonly sequence: number }
  | { readonly time: Date };

const CURSOR_KIND = 'graph';

/** Parses a cursor; `null` when the text is not one. The caller parses timestamps itself, into `{ time }`. */
export function parseGraphCursor(text: string): GraphSince | null {
  // No instance has this position: all nodes are sent again.
  if (isForeignCursor(CURSOR_KIND, text)) return { instance: '', view: '', sequence: 0 };
  const [instance, view, sequence] = decodeCursor(CURSOR_KIND, text) ?? [];
  if (typeof instance !== 'string' || typeof view !== 'string') return null;
  return Number.isSafeInteger(sequence) ? { instance, view, sequence: Number(sequence) } : null;
}

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
export type GraphView = ReturnType<typeof viewOf>;

/** Bounded memory of graphs; the least recently used graphs are evicted first. */
export type GraphTracker = ReturnType<typeof createGraphTracker>;

/** When each node of a graph last changed, as numbers that grow with every change. Never modified. */
interface Changes {
  readonly shape: GraphShape;
  /** The first known change, the latest one, and the one since which the graph has this shape. */
  readonly first: number;
  readonly latest: number;
  readonly shapedAt: number;
  /** Per node: a fingerprint of the fields in an update, and the change that last altered it. */
  readonly prints: readonly string[];
  readonly changedAt: readonly number[];
}

type TrackerState = ReturnType<typeof stateOf>;

/** Number of past answers that can be found by their `generated_at`. */
const MAX_ISSUED = 5_000;

function stateOf({ most = 20_000, maxGraphs = 500, maxNodes = 200_000, instance }: GraphTrackerOptions) {
  return {
    graphs: createLruCache<Changes>({
      entries: maxGraphs,
      bytes: maxNodes,
      // The latest graph is always kept, regardless of its size.
      sizeOf: ({ shape }) => Math.min(maxNodes, Math.max(shape.links.size, shape.nodes.length)),
    }),
    /** Number of the latest change by view and `generated_at` of an answer. */
    issued: createLruCache<number>({ entries: MAX_ISSUED }),
    instance: instance ?? randomBytes(4).toString('hex'),
    most,
    /**
     * Shared by all graphs, so that a graph that was evicted and is built again does not issue the same cursors
     * again.
     */
    lastChange: 0,
  };
}

/** Creates an empty tracker. One per router. */
export function createGraphTracker(options: GraphTrackerOptions = {}) {
  const state = stateOf(options);
  return {
    /**
     * Builds the graph and records what changed since the last call. Call it for every tree that was read, and
     * not again for the same task before the steps have ended.
     */
    *observe(taskId: string, tree: TaskTree): Steps<GraphView> {
      const before = state.graphs.get(taskId);
      const graph = yield* buildGraph(tree, taskId, state.most, before?.shape);
      state.lastChange += 1;
      const changes = yield* findChanges(graph, before, state.lastChange);
      state.graphs.set(taskId, changes);
      return viewOf(state, taskId, graph, changes);
    },
  };
}

/**
 * Finds the changes since the previous graph.
 *
 * @param before changes of the previous graph, if there is one
 * @param next number for the changes that are found
 */
function* findChanges({ nodes, shape }: Graph, before: Changes | undefined, next: number): Steps<Changes> {
  const isSameShape = before?.shape === shape;
  const indexes = isSameShape ? null : new Map(before?.shape.nodes.map(({ id }, index) => [id, index]));
  const prints: string[] = [];
  const changedAt: number[] = [];
  let isChanged = !isSameShape;
  for (const [index, node] of nodes.entries()) {
    const print = printOf(node);
    const at = indexes === null ? index : (indexes.get(node.id) ?? -1);
    const known = before?.prints[at] === print ? before.changedAt[at] : undefined;
    isChanged ||= known === undefined;
    prints.push(print);
    if (changedAt.push(known ?? next) % ITEMS_PER_STEP === 0) yield;
  }
  // Without a change the previous arrays are kept, so that the new ones can be freed.
  if (before !== undefined && !isChanged) return before;
  const shapedAt = isSameShape ? before.shapedAt : next;
  return { shape, first: before?.first ?? next, latest: next, shapedAt, prints, changedAt };
}

function viewOf(state: TrackerState, taskId: string, graph: Graph, changes: Changes) {
  const { instance, issued } = state;
  const { first, latest, shapedAt, changedAt } = changes;
  const nameOf = (limit: number): string =>
    createHash('sha256').update(`${limit} ${taskId}`).digest('hex').slice(0, 12);
  const keyOf = (generatedAt: number, limit: number): string => `${nameOf(limit)} ${generatedAt}`;

  /** `null`: this instance does not know the position. */
  function find(since: GraphSince, limit: number): number | null {
    if (!('time' in since) && (since.instance !== instance || since.view !== nameOf(limit))) return null;
    const sequence = 'time' in since ? issued.get(keyOf(since.time.getTime(), limit)) : since.sequence;
    return sequence !== undefined && sequence >= first && sequence <= latest ? sequence : null;
  }

  return {
    graph,
    /** Cursor for this state at a node limit. */
    cursor: (limit: number): string => encodeCursor(CURSOR_KIND, [instance, nameOf(limit), latest]),
    /**
     * Finds the changes that a graph with this node limit shows.
     *
     * @param since `null` returns all nodes. A position that this instance does not know at this limit returns
     *   all nodes with `topologyChanged`
     */
    changesSince(since: GraphSince | null, limit: number) {
      const nodes = graph.nodes.slice(0, limit);
      if (since === null) return { nodes, topologyChanged: false };
      const after = find(since, limit);
      // Sending too much is better than missing a change.
      if (after === null) return { nodes, topologyChanged: true };
      return {
        nodes: nodes.filter((_, index) => (changedAt[index] as number) > after),
        topologyChanged: shapedAt > after,
      };
    },
    /**
     * Records that this state was sent with this `generated_at`, so that a client may send it back as `since`.
     * Call it for every answer, including an unchanged one that is sent again with a later `generated_at`.
     *
     * @param generatedAt milliseconds since 1970
     */
    issue(generatedAt: number, limit: number): void {
      // Several answers may share one millisecond. Keep the oldest, so that no change between them is lost.
      const key = keyOf(generatedAt, limit);
      issued.set(key, Math.min(latest, issued.get(key) ?? latest));
    },
  };
}

/** Frozen tasks only: they cannot change, and sources often return the same object again. */
const frozenPrints = new WeakMap<Task, string>();

/** Fingerprint of all fields that an update carries. */
function printOf({ task, members }: GraphNode): string {
  if (task === null) return JSON.stringify(members);
  const known = frozenPrints.get(task);
  if (known !== undefined) return known;
  try {
    const { state, engineState, runtime, waitSeconds, retries, worker } = task;
    const { sent, received, eta, started, finished } = task;
    const times = [sent, received, eta, started, finished];
    const fields = [state, engineState, runtime, waitSeconds, retries, worker, ...times].map(fieldPrint);
    const print = `${flagsOf(task.flags)}\n${fields.join('\n')}`;
    if (Object.isFrozen(task)) frozenPrints.set(task, print);
    return print;
  } catch {
    // An unreadable task is shown as one known only by reference.
    return 'unreadable';
  }
}

/** Values of other types are left out: an update carries `null` for them, and some cannot be converted to text. */
function fieldPrint(value: unknown): string | number {
  if (typeof value === 'string' || typeof value === 'number') return value;
  try {
    return value instanceof Date ? value.getTime() : '';
  } catch {
    // A Proxy may throw.
    return '';
  }
}
