import { listQuery } from '../tasks/list-query.ts';

/** The filters of the address, as parameters of the API: without a period, an order and a state. */
export function filtersOf(query: URLSearchParams): Readonly<Record<string, string | readonly string[]>> {
  const { since, until, sort, order, state, engine_state, ...filters } = listQuery(query);
  return filters as Readonly<Record<string, string | readonly string[]>>;
}
