/** The current view, kept in the URL fragment, so that every view and filter is a link. */
import { createStore } from './store.ts';

/** Names of the views; `unknown` is shown for any other fragment. */
export type ViewName =
  | 'overview'
  | 'tasks'
  | 'task'
  | 'workflow'
  | 'workers'
  | 'schedules'
  | 'components'
  | 'metrics'
  | 'unknown';

/** A view with its parameters. */
export interface Route {
  readonly view: ViewName;
  /** Task id; empty for views without a task. */
  readonly id: string;
  readonly query: URLSearchParams;
}

const LISTS: ReadonlySet<string> = new Set(['tasks', 'workers', 'schedules', 'components', 'metrics']);

/** @param hash `#/tasks?state=FAILURE`, `#/tasks/<id>`, `#/workflow/<id>` */
function parseRoute(hash: string): Route {
  const [path = '', search = ''] = split(hash.replace(/^#\/?/, ''), '?');
  const query = new URLSearchParams(search);
  const [head = '', rest = ''] = split(path, '/');
  const id = decode(rest);
  if (head === '') return { view: 'overview', id: '', query };
  if (head === 'tasks' && id !== '') return { view: 'task', id, query };
  if (head === 'workflow' && id !== '') return { view: 'workflow', id, query };
  if (LISTS.has(head)) return { view: head as ViewName, id: '', query };
  return { view: 'unknown', id: path, query };
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

/** The current view and its parameters. */
export const currentRoute = createStore<Route>(parseRoute(location.hash));

addEventListener('hashchange', () => currentRoute.set(parseRoute(location.hash)));

type QueryInput = Readonly<Record<string, string | readonly string[]>> | URLSearchParams;

/** The link to a view. */
export function linkTo(path: string, query: QueryInput = {}): string {
  const search = query instanceof URLSearchParams ? query : new URLSearchParams();
  if (!(query instanceof URLSearchParams)) {
    for (const [name, value] of Object.entries(query)) {
      for (const item of typeof value === 'string' ? [value] : value) search.append(name, item);
    }
  }
  const text = search.toString();
  return `#/${path}${text === '' ? '' : `?${text}`}`;
}

/** The link to the page of a task. @param source name of its source, where several may have this id. Default: any */
export const taskLink = (id: string, source: string | null = null): string =>
  linkTo(`tasks/${encodeURIComponent(id)}`, source === null ? {} : { source });
/** The link to the workflow of a task. */
export const workflowLink = (id: string): string => linkTo(`workflow/${encodeURIComponent(id)}`);

/** Opens a link. @param replace replaces the current entry of the browser history. Default false */
export function go(link: string, replace = false): void {
  if (replace) {
    history.replaceState(null, '', link);
    currentRoute.set(parseRoute(link));
  } else location.hash = link;
}
