/** Converts the query of the page's URL to that of `/api/tasks/`. Names are the same, except for the period. */
import type { TaskListQuery } from '../../client.ts';
import { rangeOf } from '../range.ts';
import { SEARCH_PARAMETERS } from '../search/fields.ts';

/** Filters that accept one value. */
const ONE = ['root_id', 'parent_id', 'group_id'] as const;
/** Filters that accept several values, and those of the search box. */
const MANY = SEARCH_PARAMETERS.filter((name) => name !== 'root_id');

const SORTS = ['timestamp', 'received', 'started', 'finished', 'runtime', 'name', 'state'] as const;
/** A sortable column. */
export type Sort = (typeof SORTS)[number];

/** The sort order of the list. */
export interface Order {
  readonly sort: Sort;
  readonly order: 'asc' | 'desc';
}

/** Reads the sort order from the URL. Default: `timestamp`, newest first. */
export function orderOf(query: URLSearchParams): Order {
  const asked = query.get('sort');
  return {
    sort: SORTS.find((sort) => sort === asked) ?? 'timestamp',
    order: query.get('order') === 'asc' ? 'asc' : 'desc',
  };
}

/** The current query of the list: a period that ends now moves with the clock. */
export function listQuery(query: URLSearchParams): TaskListQuery {
  const asked: Record<string, string | readonly string[]> = {};
  for (const name of MANY) {
    const values = query.getAll(name).filter((value) => value.trim() !== '');
    if (values.length > 0) asked[name] = values;
  }
  for (const name of ONE) {
    const value = query.get(name);
    if (value !== null && value.trim() !== '') asked[name] = value;
  }
  const { sort, order } = orderOf(query);
  if (sort !== 'timestamp') asked.sort = sort;
  if (order !== 'desc') asked.order = order;
  return { ...asked, ...rangeOf(query).list() };
}

/** The query with one filter changed. The sort order is kept. */
export function withFilter(query: URLSearchParams, name: string, values: readonly string[]): URLSearchParams {
  const next = new URLSearchParams(query);
  next.delete(name);
  for (const value of values) if (value !== '') next.append(name, value);
  return next;
}

/** The query with one value of a filter added or removed. */
export function withToggled(query: URLSearchParams, name: string, value: string): URLSearchParams {
  const before = query.getAll(name);
  return withFilter(
    query,
    name,
    before.includes(value) ? before.filter((item) => item !== value) : [...before, value],
  );
}
