import { useState } from 'preact/hooks';
import { client } from '../live/connection.ts';
import { useResource } from '../live/use-resource.ts';
import { Dialog } from '../parts/dialog.tsx';
import { go, linkTo } from '../route.ts';
import { SEARCH_PARAMETERS } from '../search/fields.ts';
import { formatSearch } from '../search/parse.ts';
import { toneOf, type Words } from '../text/words.ts';
import { withFilter, withToggled } from './list-query.ts';

interface FiltersProps {
  readonly query: URLSearchParams;
  readonly words: Words;
}

/** The filters of the list that can be chosen. Each change is a new address. */
export function Filters({ query, words }: FiltersProps) {
  const facets = useResource('facets', (signal) => client.tasks({ limit: 0, stats: 1_440 }, { signal }), {
    every: 60_000,
  });
  const stats = facets.data?.stats ?? null;
  const filters = facets.data?.capabilities?.filters ?? null;
  const has = (name: string): boolean => filters?.includes(name) ?? true;

  return (
    <>
      {has('name') && (
        <Choice
          query={query}
          name="name"
          label="Name"
          options={(stats?.names ?? []).map(({ name }) => name)}
        />
      )}
      {has('queue') && <Choice query={query} name="queue" label="Queue" options={stats?.queues ?? []} />}
      {has('worker') && <Choice query={query} name="worker" label="Worker" options={stats?.workers ?? []} />}
      {has('state') && <StateChips query={query} words={words} seen={Object.keys(stats?.states ?? {})} />}
    </>
  );
}

/** A chip for each state, and for each of the engine's own. @param seen states that tasks have */
function StateChips({ query, words, seen }: FiltersProps & { readonly seen: readonly string[] }) {
  const [chosen, own] = [query.getAll('state'), query.getAll('engine_state')];
  const chips = (name: string, states: readonly string[], toneFor: (state: string) => string) =>
    [...new Set(states)].map((state) => (
      <button
        key={state}
        type="button"
        class={`chip tone-${toneFor(state)}`}
        aria-pressed={query.getAll(name).includes(state)}
        onClick={() => go(linkTo('tasks', withToggled(query, name, state)))}
      >
        {state}
      </button>
    ));
  return (
    <fieldset class="flow chips">
      <legend class="offscreen">States</legend>
      {chips('state', [...words.states, ...seen, ...chosen], toneOf)}
      {chips('engine_state', [...words.engineStates, ...own], () => 'waiting')}
    </fieldset>
  );
}

function Choice(props: {
  readonly query: URLSearchParams;
  readonly name: 'name' | 'worker' | 'queue';
  readonly label: string;
  readonly options: readonly string[];
}) {
  const { query, name, label, options } = props;
  const chosen = query.getAll(name);
  const all = [...new Set([...options, ...chosen])].toSorted();
  return (
    <label class="field">
      <span>{label}</span>
      <select
        value={chosen.length > 1 ? '\u0000many' : (chosen[0] ?? '')}
        onChange={(event) => go(linkTo('tasks', withFilter(query, name, [event.currentTarget.value])))}
      >
        <option value="">any</option>
        {chosen.length > 1 && <option value={'\u0000many'}>{`${chosen.length} chosen`}</option>}
        {all.map((option) => (
          <option key={option} value={option}>
            {option}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Filters that the search box does not support. */
const OTHERS: Readonly<Record<string, string>> = { parent_id: 'sent by', group_id: 'group' };

/** The parameters that filter the list. */
const activeFilters = (query: URLSearchParams): readonly (readonly [name: string, value: string])[] =>
  [...query].filter(
    ([name, value]) => value !== '' && (SEARCH_PARAMETERS.includes(name) || Object.hasOwn(OTHERS, name)),
  );

/** The active filters, each with a link that removes it. @param isWhole also lists those that the search box shows */
export function ActiveFilters(props: { readonly query: URLSearchParams; readonly isWhole: boolean }) {
  const { query, isWhole } = props;
  const active = activeFilters(query);
  if (active.length === 0) return null;
  return (
    <ul class="flow chips" aria-label="Active filters">
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
              <span class="one-line">
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

/** On a phone, the button that opens the filters in a sheet. The list behind the sheet follows each change. */
export function FilterSheet(props: {
  readonly query: URLSearchParams;
  readonly words: Words;
  /** How many tasks there are, in words. */
  readonly total: string;
}) {
  const { query, words, total } = props;
  const [isOpen, setOpen] = useState(false);
  const { length } = activeFilters(query);
  return (
    <>
      <button type="button" class="small" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        {length === 0 ? 'Filter' : `Filter (${length})`}
      </button>
      {isOpen && (
        <Dialog
          id="filter-title"
          title="Filter"
          class="sheet"
          done={`Show ${total}`}
          onClose={() => setOpen(false)}
        >
          <div class="flow filters">
            <Filters query={query} words={words} />
          </div>
          <ActiveFilters query={query} isWhole />
        </Dialog>
      )}
    </>
  );
}
