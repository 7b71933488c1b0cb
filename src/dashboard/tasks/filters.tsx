import { useState } from 'preact/hooks';
import { client } from '../live/connection.ts';
import { useResource } from '../live/use-resource.ts';
import { toneOf } from '../parts/state-badge.tsx';
import { go, linkTo } from '../route.ts';
import type { Words } from '../text/words.ts';
import { useMedia } from '../use-media.ts';
import { withFilter, withToggled } from './list-query.ts';

/** Filters that are folded away on a phone. */
const FOLDED = ['name', 'queue', 'worker', 'state', 'engine_state'];

/** Every filter of the list. Each change is a new URL. */
export function Filters({ query, words }: { readonly query: URLSearchParams; readonly words: Words }) {
  const isNarrow = useMedia('(max-width: 760px)');
  const [isOpen, setOpen] = useState(false);
  const active = FOLDED.reduce((sum, name) => sum + query.getAll(name).length, 0);
  return (
    <div class="filters">
      {isNarrow && (
        <button type="button" class="fold" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {active === 0 ? 'Filter' : `Filter (${active})`}
        </button>
      )}
      {(!isNarrow || isOpen) && <FoldedFilters query={query} words={words} />}
    </div>
  );
}

function FoldedFilters({ query, words }: { readonly query: URLSearchParams; readonly words: Words }) {
  const facets = useResource(
    'facets',
    async (signal) => (await client.tasks({ limit: 0, stats: 1_440 }, { signal })).stats ?? null,
    { every: 60_000 },
  );
  const stats = facets.data;

  return (
    <>
      <Choice query={query} name="name" label="Name" options={(stats?.names ?? []).map(({ name }) => name)} />
      <Choice query={query} name="queue" label="Queue" options={stats?.queues ?? []} />
      <Choice query={query} name="worker" label="Worker" options={stats?.workers ?? []} />
      <StateChips query={query} words={words} seen={Object.keys(stats?.states ?? {})} />
    </>
  );
}

/** A chip for each state, and for each of the engine's own. @param seen states that tasks have */
function StateChips(props: {
  readonly query: URLSearchParams;
  readonly words: Words;
  readonly seen: readonly string[];
}) {
  const { query, words, seen } = props;
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
    <fieldset class="chips">
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

const NAMES: Readonly<Record<string, string>> = {
  state: 'state',
  engine_state: 'state',
  name: 'name',
  worker: 'worker',
  queue: 'queue',
  cause: 'cause',
  q: 'search',
  root_id: 'workflow',
  parent_id: 'sent by',
  group_id: 'group',
};

/** The active filters, each with a button that removes it. */
export function ActiveFilters({ query }: { readonly query: URLSearchParams }) {
  const active = [...query].filter(([name, value]) => Object.hasOwn(NAMES, name) && value !== '');
  if (active.length === 0) return null;
  return (
    <div class="active-filters">
      {active.map(([name, value]) => (
        <a
          key={`${name}=${value}`}
          class="chip"
          href={linkTo('tasks', withToggled(query, name, value))}
          title="Remove this filter"
        >
          <span class="dim">{NAMES[name]}</span> <span class="chip-value">{value}</span>{' '}
          <span aria-hidden="true">×</span>
        </a>
      ))}
      <a class="chip" href={linkTo('tasks')}>
        Clear all
      </a>
    </div>
  );
}
