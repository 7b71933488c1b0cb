import type {
  ComponentsBody,
  EventsBody,
  GraphBody,
  GraphUpdatesBody,
  HealthBody,
  RelationsBody,
  SchedulesBody,
  TaskBody,
  TaskDetailBody,
  TasksBody,
  WorkersBody,
} from '../wire.ts';
import { eachTask, type TaskListQuery } from './each-task.ts';
import { type QueryValues, request, type Transport, urlOf } from './request.ts';
import { follow, persist, type WatchOptions } from './watch.ts';

export type { TaskListQuery } from './each-task.ts';
export type { WatchOptions } from './watch.ts';

/** Options of {@link createMonitorClient}. */
export interface MonitorClientOptions {
  /** Function that sends requests. Default: the global `fetch`. */
  readonly fetch?: typeof fetch;
  /** Sent with every request, such as `{ authorization: 'Bearer …' }`. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Parameters of `events()`, which are those of `/api/events/latest/`. */
export interface EventQuery {
  readonly limit?: number;
  /** `cursor` or `generated_at` of an earlier answer. */
  readonly since?: string;
  /** Lists only the newest items, up to this number; `skipped` counts the others. */
  readonly newest?: number;
  /** For `watchEvents`: changes within this many milliseconds are sent in one body. Default 250. */
  readonly gather?: number;
  readonly state?: string | readonly string[];
  readonly worker?: string | readonly string[];
  readonly task?: string | readonly string[];
}

/** Parameters of `graph()` and `graphUpdates()`. */
export interface GraphQuery {
  /** Maximum number of nodes, 1 to 20,000. Default 5,000. */
  readonly limit?: number;
}

/** Parameters of `components()`: those of `/api/components/`. */
export interface ComponentsQuery {
  /** Length of the statistics in minutes, at most 129,600. Default: none, and none of the components that it adds. */
  readonly stats?: number;
  /** End of the statistics' window. Default: now. */
  readonly stats_until?: string | Date;
  /** Only statistics over tasks whose last change is at or after this time; with at most 1,440 minutes. */
  readonly since?: string | Date;
  /** Only statistics over tasks of these sources. */
  readonly source?: string | readonly string[];
}

/** Options of a single request. */
export interface CallOptions {
  readonly signal?: AbortSignal;
}

/**
 * The eleven routes as functions. Each rejects with a `MonitorClientError` when the server answers with an
 * error or not at all; `code` is the stable code of the API.
 */
export interface MonitorClient {
  /** Resolves even when a check fails: read `ok`. @param checks the checks to run. Default: all but `findings` */
  health(
    options?: CallOptions & { readonly checks?: readonly ('broker' | 'backend' | 'workers' | 'findings')[] },
  ): Promise<HealthBody>;
  /** @param options `stats` adds the components `checks`, `workers` and `tasks` */
  components(options?: CallOptions & ComponentsQuery): Promise<ComponentsBody>;
  tasks(query?: TaskListQuery, options?: CallOptions): Promise<TasksBody>;
  /**
   * All tasks of a list, each once, page by page. Includes tasks that change while the pages are read: after the last
   * page, tasks that have changed since the first one are read again.
   */
  eachTask(
    query?: Omit<TaskListQuery, 'cursor' | `stats${string}`>,
    options?: CallOptions,
  ): AsyncGenerator<TaskBody>;
  task(id: string, options?: CallOptions): Promise<TaskDetailBody>;
  relations(id: string, options?: CallOptions): Promise<RelationsBody>;
  graph(id: string, query?: GraphQuery, options?: CallOptions): Promise<GraphBody>;
  graphUpdates(
    id: string,
    query?: GraphQuery & { readonly since?: string },
    options?: CallOptions,
  ): Promise<GraphUpdatesBody>;
  /** @param running adds the running tasks of each worker, at most this many. 0 to 100. Default: none */
  workers(options?: CallOptions & { readonly running?: number }): Promise<WorkersBody>;
  events(query?: EventQuery, options?: CallOptions): Promise<EventsBody>;
  schedules(options?: CallOptions): Promise<SchedulesBody>;
  /** The exporter's response as text. @param query parameters that the host allows */
  metrics(
    query?: Readonly<Record<string, string | readonly string[]>>,
    options?: CallOptions,
  ): Promise<string>;
  /**
   * Events as they happen: first the latest ones (or those after `since`), then each new batch. Never ends by
   * itself and resumes after failures; leave the loop or abort `signal` to end it.
   *
   * @example for await (const { events, gap } of client.watchEvents()) show(events);
   */
  watchEvents(query?: EventQuery, options?: WatchOptions): AsyncGenerator<EventsBody>;
  /** The whole workflow of a task, again after each change. Ends like `watchEvents`. */
  watchGraph(id: string, query?: GraphQuery, options?: WatchOptions): AsyncGenerator<GraphState>;
}

/**
 * Creates a client.
 *
 * @param baseUrl where the monitor is mounted: `https://example.org/monitor`, or in a browser `/monitor`
 * @example const client = createMonitorClient('http://localhost:3000/monitor'); const { tasks } = await
 *   client.tasks({ state: 'FAILURE' });
 */
export function createMonitorClient(
  baseUrl: string | URL,
  options: MonitorClientOptions = {},
): MonitorClient {
  const transport: Transport = {
    base: `${String(baseUrl).replace(/\/+$/, '')}/`,
    // Wrapped, because browsers reject a `fetch` that is called as a method of another object.
    fetch: options.fetch ?? ((input, init) => fetch(input, init)),
    headers: options.headers ?? {},
  };

  function open(
    path: string,
    query: QueryValues = {},
    { signal }: CallOptions = {},
    accepted: readonly number[] = [],
  ): Promise<Response> {
    const headers = { accept: 'application/json' };
    return request(transport, urlOf(transport, path, query), { signal, headers, accepted });
  }
  const json = async <Body>(...asked: Parameters<typeof open>): Promise<Body> =>
    (await (await open(...asked)).json()) as Body;

  const task = (id: string, rest = ''): string => `api/tasks/${encodeURIComponent(id)}/${rest}`;

  const client: MonitorClient = {
    health: ({ checks, ...call } = {}) => json('healthcheck', { checks: checks?.join(',') }, call, [503]),
    components: ({ signal, ...query } = {}) => json('api/components/', query, signal && { signal }),
    tasks: (query, call) => json('api/tasks/', { ...query }, call),
    eachTask: (query = {}, call = {}) => eachTask((page) => client.tasks(page, call), query),
    task: (id, call) => json(task(id), {}, call),
    relations: (id, call) => json(task(id, 'relations/'), {}, call),
    async graph(id, query, call) {
      const response = await open(task(id, 'graph/'), { ...query }, call);
      return await parseGraph(await textOf(response));
    },
    graphUpdates: (id, query, call) => json(task(id, 'graph/updates/'), { ...query }, call),
    workers: ({ running, ...call } = {}) => json('api/workers/', { running }, call),
    events: (query, call) => json('api/events/latest/', { ...query }, call),
    schedules: (call) => json('api/beat/schedules/', {}, call),
    async metrics(query, { signal } = {}) {
      const response = await request(transport, urlOf(transport, 'metrics', query), { signal });
      return await response.text();
    },
    watchEvents({ since, ...query } = {}, watch = {}) {
      return follow<EventsBody>(transport, 'api/events/latest/', query, since ?? null, watch);
    },
    watchGraph: (id, query = {}, watch = {}) =>
      watchGraph(client, transport, task(id, 'graph/updates/'), id, query, watch),
  };
  return client;
}

/** @param path of the updates */
async function* watchGraph(
  client: MonitorClient,
  transport: Transport,
  path: string,
  id: string,
  query: GraphQuery,
  watch: WatchOptions,
): AsyncGenerator<GraphState> {
  const call: CallOptions = watch.signal === undefined ? {} : { signal: watch.signal };
  const read = () => persist(() => client.graph(id, query, call), watch);
  let graph: GraphBody | null = await read();
  if (graph === null) return;
  const { cursor } = graph.meta;
  for await (const update of follow<GraphUpdatesBody>(transport, path, { ...query }, cursor, watch)) {
    if (update.topology_changed) graph = await read();
    if (graph === null) return;
    const next: GraphState = update.topology_changed
      ? { ...graph, complete: update.complete }
      : applyGraphUpdates(graph, update);
    graph = next;
    yield next;
  }
}

/** Length of a piece in characters, which takes about a millisecond. */
const PIECE = 65_536;
/** Longest time without a pause, in milliseconds. */
const SLICE_MS = 12;

/** Quotes inside of texts are escaped, so these texts occur only between the members of the body. */
const NODES = '"nodes":[';
const EDGES = '],"edges":[';
const REST = '],"sources":[';
const NEXT_ITEM = '},{"id":"';

/** The text of a body, decoded as it arrives instead of all at once at the end. */
async function textOf(response: Response): Promise<string> {
  if (response.body === null) return await response.text();
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    text += decoder.decode(value, { stream: true });
  }
}

/** @param text the body as the API writes it; a different format is parsed at once */
async function parseGraph(text: string): Promise<GraphBody> {
  const nodesAt = text.indexOf(NODES) + NODES.length;
  const nodesEnd = text.indexOf(EDGES, nodesAt);
  const edgesAt = nodesEnd + EDGES.length;
  const edgesEnd = text.indexOf(REST, edgesAt);
  const isOurs = nodesAt >= NODES.length && nodesEnd >= 0 && edgesEnd >= 0;
  if (text.length <= PIECE || !isOurs) return JSON.parse(text) as GraphBody;
  const [before, between, after] = [
    text.slice(0, nodesAt),
    text.slice(nodesEnd, edgesAt),
    text.slice(edgesEnd),
  ];
  const body = JSON.parse(before + between + after) as GraphBody;
  const pause = pauses();
  const nodes = await parseItems(text, nodesAt, nodesEnd, pause);
  const edges = await parseItems(text, edgesAt, edgesEnd, pause);
  return { ...body, nodes: nodes as GraphBody['nodes'], edges: edges as GraphBody['edges'] };
}

async function parseItems(
  text: string,
  from: number,
  to: number,
  pause: () => Promise<void> | null,
): Promise<unknown[]> {
  const items: unknown[] = [];
  for (let at = from; at < to; ) {
    const next = text.indexOf(NEXT_ITEM, at + PIECE);
    const end = next < 0 || next >= to ? to : next + 1;
    for (const item of JSON.parse(`[${text.slice(at, end)}]`) as unknown[]) items.push(item);
    at = end + 1;
    const paused = pause();
    if (paused !== null) await paused;
  }
  return items;
}

/** Ends the turn of the event loop when a slice is over; `null` before that. */
function pauses(): () => Promise<void> | null {
  let end = performance.now() + SLICE_MS;
  return () => {
    if (performance.now() < end) return null;
    return new Promise((resolve) => {
      setTimeout(() => {
        end = performance.now() + SLICE_MS;
        resolve();
      });
    });
  };
}

/** A graph with all updates applied so far. */
export interface GraphState extends GraphBody {
  /** True once every task of the workflow has ended. */
  readonly complete: boolean;
}

/**
 * Applies updates that did not change the topology. After `topology_changed`, read the whole graph again.
 *
 * @returns a new object, in which unchanged nodes are the same objects as before
 */
export function applyGraphUpdates(graph: GraphBody, updates: GraphUpdatesBody): GraphState {
  const changed = new Map(updates.node_updates.map((update) => [update.id, update]));
  return {
    meta: {
      ...graph.meta,
      generated_at: updates.generated_at,
      cursor: updates.cursor,
      counts: updates.meta_counts,
      node_count: updates.node_count,
      edge_count: updates.edge_count,
    },
    nodes: graph.nodes.map((node) => {
      const update = changed.get(node.id);
      return update === undefined ? node : { ...node, ...update };
    }),
    edges: graph.edges,
    sources: updates.sources,
    complete: updates.complete,
  };
}
