/** The current view, kept in the URL fragment, so that every view, filter and period is a link. */
import { createStore } from './store.ts';

/** An address of the page. */
export interface Route {
  /** First part of the path: `tasks`; empty for the overview. */
  readonly path: string;
  /** The rest of the path, decoded: an id or a name. Empty if there is none. */
  readonly id: string;
  readonly query: URLSearchParams;
}

/** Addresses of earlier versions, and their current ones. */
const MOVED: Readonly<Record<string, string>> = { overview: '', components: 'system', metrics: 'system' };
/** The period that a view shows. Links keep it, unless they have their own. */
const PERIOD = ['range', 'from', 'to'] as const;

/** @param hash `#/tasks?state=FAILURE`, `#/tasks/<id>`, `#/workflow/<id>` */
function parseRoute(hash: string): Route {
  const [address = '', search = ''] = split(hash.replace(/^#\/?/, ''), '?');
  const [head = '', rest = ''] = split(address, '/');
  const query = withPeriod(new URLSearchParams(search), head === '' ? 'minutes' : 'last');
  return { path: Object.hasOwn(MOVED, head) ? (MOVED[head] ?? '') : head, id: decode(rest), query };
}

function split(text: string, mark: string): [before: string, after: string] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

/** Links in a host's logs may contain an unencoded id. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Writes the period as this page does. The API and earlier addresses call it `since` and `until`. */
function withPeriod(query: URLSearchParams, minutes: 'last' | 'minutes'): URLSearchParams {
  const names = [
    ['since', 'from', (value: string) => value],
    ['until', 'to', (value: string) => value],
    [minutes, 'range', (value: string) => `${value}m`],
  ] as const;
  for (const [before, now, convert] of names) {
    const value = query.get(before);
    if (value === null) continue;
    query.delete(before);
    if (value !== '' && !query.has(now)) query.set(now, convert(value));
  }
  return query;
}

/** The current view and its parameters. */
export const currentRoute = createStore<Route>(parseRoute(location.hash));

/** The addresses visited so far, to find out whether the reader can go back within the page. */
const trail = [location.hash];

addEventListener('hashchange', () => {
  const isBack = trail.at(-2) === location.hash;
  if (isBack) trail.pop();
  else trail.push(location.hash);
  currentRoute.set(parseRoute(location.hash));
});

/** Goes back, or to this link if the page was opened here. */
export function goBack(fallback: string): void {
  if (trail.length > 1) history.back();
  else go(fallback);
}

/** The link to a view. It keeps the current period and source, unless the query has its own. */
export function linkTo(
  path: string,
  query: Readonly<Record<string, string | readonly string[]>> | URLSearchParams = {},
): string {
  const search = new URLSearchParams(query instanceof URLSearchParams ? query : undefined);
  if (!(query instanceof URLSearchParams)) {
    for (const [name, value] of Object.entries(query)) {
      for (const item of typeof value === 'string' ? [value] : value) search.append(name, item);
    }
  }
  withPeriod(search, 'last');
  const { query: here } = currentRoute.get();
  carry(here, search, PERIOD);
  carry(here, search, ['compare']);
  carry(here, search, ['only']);
  return addressOf(path, search);
}

function carry(from: URLSearchParams, to: URLSearchParams, names: readonly string[]): void {
  if (names.some((name) => to.has(name))) return;
  for (const name of names) {
    const value = from.get(name);
    if (value !== null) to.set(name, value);
  }
}

function addressOf(path: string, query: URLSearchParams): string {
  const text = query.toString();
  return `#/${path}${text === '' ? '' : `?${text}`}`;
}

/** The current view with some parameters changed; `null` removes one. */
export function linkHere(changes: Readonly<Record<string, string | null>>): string {
  const { path, id, query } = currentRoute.get();
  const search = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) search.delete(name);
    else search.set(name, value);
  }
  return addressOf(id === '' ? path : pathOf(path, id), search);
}

const pathOf = (view: string, id: string): string => `${view}/${encodeURIComponent(id)}`;

/** The link to the page of a task. @param source name of its source, if several have this id. Default: any */
export const taskLink = (id: string, source: string | null = null): string =>
  linkTo(pathOf('tasks', id), source === null ? {} : { source });
/** The link to the workflow of a task. */
export const workflowLink = (id: string): string => linkTo(pathOf('workflow', id));

/** The link to the page of a task name. */
export const nameLink = (name: string): string => linkTo(pathOf('names', name));
/** The link to the page of a queue. */
export const queueLink = (name: string): string => linkTo(pathOf('queues', name));
/** The link to one worker. */
export const workerLink = (hostname: string): string => linkTo(pathOf('workers', hostname));
/** The link to the page of a cause of failures. */
export const causeLink = (cause: string): string => linkTo(pathOf('failures', cause));

/** Opens a link. @param replace replaces the current entry of the browser history. Default false */
export function go(link: string, replace = false): void {
  if (replace) {
    history.replaceState(null, '', link);
    trail[trail.length - 1] = link;
    currentRoute.set(parseRoute(link));
  } else location.hash = link;
}
