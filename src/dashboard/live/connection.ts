/**
 * Sends requests to the monitor, for the chosen source if there are several, and records whether it answers and still
 * allows this reader.
 */
import {
  type ComponentsBody,
  createMonitorClient,
  type MonitorClient,
  MonitorClientError,
  type TaskListQuery,
} from '../../client.ts';
import type { SourceBody, TaskCapabilitiesBody } from '../../wire.ts';
import { currentRoute } from '../route.ts';
import { createStore } from '../store.ts';

/** Whether the monitor answers, and whether this reader may see it. */
export interface Connection {
  /**
   * - `signed-out`: the session is over: no answer may be shown any more
   * - `refused`: the reader is denied the whole monitor, not only some of its routes
   */
  readonly state: 'connecting' | 'ok' | 'lost' | 'signed-out' | 'refused';
  /** Time of the latest answer, in milliseconds since 1970. */
  readonly answeredAt: number | null;
}

/** State of the connection after the latest answer. */
export const connection = createStore<Connection>({ state: 'connecting', answeredAt: null });

/** When the event stream last sent something, including comments, in milliseconds since 1970. */
export const streamedAt = createStore<number | null>(null);

/** Path of the mount. The page is served at its root. */
export const base = new URL('.', location.href).pathname;

/** Whether the reader has no access to the monitor, so that no data may be shown. */
export const isShut = ({ state }: Connection): boolean => state === 'signed-out' || state === 'refused';

/** Whether the reader may not see the requested data: what was shown of it must disappear. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof MonitorClientError && (error.status === 401 || error.status === 403);

/** After this time without an answer, a request is sent, so that a lost session is noticed. */
const QUIET_MS = 5_000;
/** How often a reader who is signed out or refused is checked again. */
const RETRY_MS = 3_000;
/** How often a refusal is compared with that of the page itself. */
const CONFIRM_MS = 5_000;

let heardAt = 0;
let confirmedAt = 0;
/** The URL of the request whose answer closed the page; when it succeeds again, the page opens. */
let shutBy = '';

const watchedFetch: typeof fetch = async (input, init) => {
  try {
    // Followed, a redirect to a login page of another site would look like a lost connection.
    const response = await fetch(input, { ...init, redirect: 'manual' });
    heardAt = Date.now();
    if (init?.signal?.aborted !== true) await judge(response, String(input));
    return /^text\/event-stream\b/.test(typeOf(response)) ? watched(response) : response;
  } catch (error) {
    if (init?.signal?.aborted !== true) lose();
    throw error;
  }
};

/** The API client that all views use. */
export const client = scoped(createMonitorClient(base, { fetch: watchedFetch }));

/** Marks the connection as lost. A reader who is signed out stays signed out. */
export function lose(): void {
  const before = connection.get();
  if (!isShut(before)) connection.set({ ...before, state: 'lost' });
}

async function judge(response: Response, url: string): Promise<void> {
  const { status } = response;
  if (isSignedOut(response)) return shut('signed-out', url);
  if (status === 403) return await confirmRefusal(url);
  // A proxy whose server is down answers with its own error page.
  const isOurs = response.ok || /\bjson\b/.test(typeOf(response));
  if (!isOurs) return lose();
  const at = Date.now();
  const before = connection.get();
  if (isShut(before) && url !== shutBy) return;
  // Update at most once a second, so that views are not rendered for every answer.
  if (before.state === 'ok' && before.answeredAt !== null && at - before.answeredAt < 1_000) return;
  connection.set({ state: 'ok', answeredAt: at });
}

/** The API never redirects the requests of this page, and never answers with HTML. */
const isSignedOut = (response: Response): boolean =>
  response.type === 'opaqueredirect' ||
  response.status === 401 ||
  (response.ok && /^text\/html\b/.test(typeOf(response)));

const typeOf = ({ headers }: Response): string => headers.get('content-type') ?? '';

/** A host may forbid single routes. The page itself is forbidden only to a reader who may see none of them. */
async function confirmRefusal(url: string): Promise<void> {
  const before = connection.get();
  if ((isShut(before) && url !== shutBy) || Date.now() - confirmedAt < CONFIRM_MS) return;
  confirmedAt = Date.now();
  const page = await fetch(base, { method: 'HEAD', redirect: 'manual', cache: 'no-store' });
  if (page.type === 'opaqueredirect' || page.status === 401) shut('signed-out', url);
  else if (page.status === 403) shut('refused', url);
  else if (isShut(before)) connection.set({ ...before, state: 'ok' });
}

function shut(state: 'signed-out' | 'refused', url: string): void {
  shutBy = url;
  connection.set({ state, answeredAt: connection.get().answeredAt });
}

/** Records when the stream sends something. */
function watched(response: Response): Response {
  const note = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      heardAt = Date.now();
      if (heardAt - (streamedAt.get() ?? 0) >= 1_000) streamedAt.set(heardAt);
      controller.enqueue(chunk);
    },
  });
  return new Response(response.body?.pipeThrough(note), response);
}

/** Sends a request if no answer has arrived for a while, and checks whether a closed page may open again. */
async function check(): Promise<void> {
  if (document.hidden) return;
  const now = connection.get();
  const isNow = isShut(now);
  if (Date.now() - heardAt < (isNow ? RETRY_MS : QUIET_MS)) return;
  heardAt = Date.now();
  const [url, method] = isNow ? [shutBy, 'GET'] : [`${base}api/events/latest/?limit=1`, 'HEAD'];
  try {
    const response = await watchedFetch(url, { method, headers: { accept: 'application/json' } });
    await response.body?.cancel();
  } catch {
    // Recorded as lost.
  }
}

/** Starts to watch the connection. Call it once. */
export function watchConnection(): void {
  setInterval(() => void check(), 1_000);
  document.addEventListener('visibilitychange', () => void check());
}

/** Names of all sources in the answers so far, sorted. */
export const sourceNames = createStore<readonly string[]>([]);

/** The chosen source; `null`: all of them. */
const chosenSource = (): string | null => currentRoute.get().query.get('only');

function note(sources: readonly SourceBody[] = []): void {
  const known = sourceNames.get();
  const fresh = sources.map(({ name }) => name).filter((name) => !known.includes(name));
  if (fresh.length > 0) sourceNames.set([...known, ...fresh].toSorted());
}

/** The client, limited to the chosen source. */
function scoped(client: MonitorClient): MonitorClient {
  return {
    ...client,
    async tasks(query, options) {
      const body = await client.tasks(ofSource(query), options);
      note(body.sources);
      return body;
    },
    eachTask: (query, options) => client.eachTask(ofSource(query), options),
    async workers(options) {
      const body = await client.workers(options);
      note(body.sources);
      return { ...body, workers: body.workers.filter(isChosen) };
    },
    async schedules(options) {
      const body = await client.schedules(options);
      note(body.sources);
      return { ...body, schedules: body.schedules.filter(isChosen) };
    },
    async components(options) {
      const body = await client.components(options?.stats === undefined ? options : ofSource(options));
      note(body.workers?.sources);
      note(body.tasks?.sources);
      return ofChosen(body);
    },
  };
}

/** A search with its own sources stays unchanged. */
function ofSource<Query extends Pick<TaskListQuery, 'source'>>(query: Query | undefined): Query | undefined {
  const source = chosenSource();
  if (source === null || query?.source !== undefined) return query;
  return { ...query, source } as Query;
}

/** Items without a source belong to all sources. */
function isChosen({ source }: { readonly source: string | null }): boolean {
  const chosen = chosenSource();
  return chosen === null || source === null || source === chosen;
}

function ofChosen(body: ComponentsBody): ComponentsBody {
  const parts = Object.entries(body).map(([key, component]) => {
    const lists = (['queues', 'findings', 'rules', 'workers'] as const).flatMap((name) => {
      const items: readonly { readonly source: string | null }[] | undefined = component[name];
      return items === undefined ? [] : [[name, items.filter(isChosen)] as const];
    });
    return [key, { ...component, ...Object.fromEntries(lists) }] as const;
  });
  return Object.fromEntries(parts);
}

/** Which parameters lists of tasks accept: an attribute of the HTML contains them, so that no view has to wait. */
const text = globalThis.document?.getElementById('app')?.dataset.capabilities;
/** `null`: everything. */
const known = text === undefined ? null : (JSON.parse(text) as TaskCapabilitiesBody);

/** Whether `/api/tasks/` accepts these parameters: a source may lack searches, or some filters. */
export function canAskFor(...parameters: readonly string[]): boolean {
  return known === null || parameters.every((name) => isAmong(known, name));
}

function isAmong({ search, filters }: TaskCapabilitiesBody, name: string): boolean {
  if (/^(?:not_)?q$/.test(name)) return search;
  return /^(?:not_)?source$/.test(name) || filters.includes(name);
}
