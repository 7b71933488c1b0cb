import { linkTo } from '../route.ts';
import { SEARCH_PARAMETERS } from '../search/fields.ts';
import { formatSearch } from '../search/parse.ts';
import { withToggled } from './list-query.ts';

/** Filters that the search box does not support. */
const OTHERS: Readonly<Record<string, string>> = { parent_id: 'sent by', group_id: 'group' };

/** The parameters that filter the list. */
export const activeFilters = (query: URLSearchParams): readonly (readonly [name: string, value: string])[] =>
  [...query].filter(
    ([name, value]) => value !== '' && (SEARCH_PARAMETERS.includes(name) || Object.hasOwn(OTHERS, name)),
  );

/** The active filters, each with a link that removes it. @param isWhole also lists those that the search box shows */
export function ActiveFilters({
  query,
  isWhole,
}: {
  readonly query: URLSearchParams;
  readonly isWhole: boolean;
}) {
  const active = activeFilters(query);
  if (active.length === 0) return null;
  return (
    <ul class="chips" aria-label="Active filters">
      {active.flatMap(([name, value]) => {
        const other = OTHERS[name];
        if (other === undefined && !isWhole) return [];
        return (
          <li key={`${name}=${value}`}>
            <a
              class="chip"
              href={linkTo('tasks', withToggled(query, name, value))}
              title="Remove this filter"
            >
              {other !== undefined && <span class="dim">{other} </span>}
              <span class="chip-value">
                {other === undefined ? formatSearch(new URLSearchParams([[name, value]])) : value}
              </span>{' '}
              <span aria-hidden="true">×</span>
            </a>
          </li>
        );
      })}
      <li>
        <a class="chip" href={linkTo('tasks')}>
          Clear all
        </a>
      </li>
    </ul>
  );
}
