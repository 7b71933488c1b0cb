import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { canAskFor } from '../live/connection.ts';
import { loadCode } from '../parts/lazy.tsx';
import { currentRoute, go, linkTo, type Route } from '../route.ts';
import type { Facets, Suggestion } from '../search/language.ts';
import { createStore, useStore } from '../store.ts';

type Language = typeof import('../search/language.ts');

const language = createStore<Language | null>(null);
/** Loads the search language. After a failure, the next call tries again. */
async function loadLanguage(): Promise<Language> {
  const loaded = language.get() ?? (await loadCode(() => import('../search/language.ts')));
  language.set(loaded);
  return loaded;
}

/** Whether the search is open on a phone, where it is hidden by default. */
const isOpen = createStore(false);

/** Moves the focus to the search. */
export function focusSearch(): void {
  isOpen.set(true);
  // Immediately, so that the next key is typed there.
  focusField();
}

function focusField(): void {
  const field = document.querySelector<HTMLInputElement>('.frame-search input');
  field?.focus();
  field?.select();
}

/** The button that opens the search on a phone. */
export function SearchToggle() {
  const isShown = useStore(isOpen);
  return (
    <button
      type="button"
      class="frame-find"
      aria-label="Find tasks"
      aria-expanded={isShown}
      onClick={() => (isShown ? isOpen.set(false) : focusSearch())}
    >
      <svg viewBox="0 0 16 16" width="18" height="18" aria-hidden="true">
        <path d="M10.5 10.5 15 15M12 6.5a5.5 5.5 0 1 1-11 0 5.5 5.5 0 0 1 11 0" />
      </svg>
    </button>
  );
}

/** The search. On a phone it is a separate row while it is open, or while a search is active. */
export function SearchSlot({ isPhone }: { readonly isPhone: boolean }) {
  const here = useStore(currentRoute);
  const isWanted = useStore(isOpen);
  // On a phone the field appears with this rendering.
  useLayoutEffect(() => {
    if (isPhone && isWanted) focusField();
  }, [isPhone, isWanted]);
  if (!isPhone) return <SearchBox here={here} />;
  if (!isWanted && !here.query.has('q')) return null;
  return (
    <div class="line frame-row">
      <SearchBox here={here} />
    </div>
  );
}

/** The first supported example of each row is shown. */
const EXAMPLES: readonly Readonly<Record<string, string>>[] = [
  { name_prefix: 'name:mail.*', name: 'name:mail.send' },
  { not_state: '-state:SUCCESS', state: 'state:FAILURE' },
  { runtime_gt: 'runtime>5s' },
  { q: '"a phrase"' },
];
const examples = EXAMPLES.flatMap(
  (row) => Object.entries(row).find(([parameter]) => canAskFor(parameter))?.[1] ?? [],
);

const TYPING_MS = 250;

/** The search of all views. In the list it searches while the reader types; elsewhere Enter opens the list. */
function SearchBox({ here }: { readonly here: Route }) {
  const { path, id, query } = here;
  const field = useRef<HTMLInputElement>(null);
  const asking = useSearch(path, path === 'tasks' && id === '', query);
  const { text, fault } = asking;
  const { options, active, open, close, type, choose, onKey } = useSuggestions(field, asking);
  return (
    <search class="frame-search">
      <input
        type="search"
        aria-label="Search"
        autocomplete="off"
        spellcheck={false}
        maxLength={2_000}
        placeholder={examples.length > 0 ? `Search tasks: ${examples.join(' ')}` : 'Id of a task'}
        ref={field}
        role="combobox"
        aria-autocomplete="list"
        aria-expanded={options.length > 0}
        aria-controls="search-options"
        aria-activedescendant={options[active] === undefined ? undefined : `search-option-${active}`}
        aria-invalid={fault !== null}
        aria-describedby={fault === null ? undefined : 'search-fault'}
        value={text}
        onFocus={open}
        onBlur={close}
        onInput={({ currentTarget: { value, selectionStart } }) => {
          open();
          type(value, selectionStart ?? value.length);
        }}
        onKeyDown={onKey}
      />
      <kbd>/</kbd>
      <div class="box search-panel" hidden={options.length === 0 && fault === null}>
        <p id="search-fault" class="search-fault" role="status">
          {fault}
        </p>
        <Options options={options} active={active} onChoose={choose} />
      </div>
    </search>
  );
}

/** The completions of the term at the caret, and the keys that choose one. */
function useSuggestions(
  field: { readonly current: HTMLInputElement | null },
  { known, text, setText, search, searchSoon }: ReturnType<typeof useSearch>,
) {
  const [facets, setFacets] = useState<Facets>({});
  const [caret, setCaret] = useState(0);
  const [isOpen, setOpen] = useState(false);
  const [active, setActive] = useState(-1);
  const options = isOpen ? (known?.suggest(text, caret, facets) ?? []) : [];
  const close = (): void => setOpen(false);

  function open(): void {
    setOpen(true);
    loadLanguage()
      .then(({ readFacets }) => readFacets())
      .then(setFacets, () => {});
  }

  function type(value: string, at: number): void {
    setText(value);
    setCaret(at);
    setActive(-1);
    searchSoon(value);
  }

  function choose({ link, text: whole, caret: at }: Suggestion): void {
    if (link !== undefined) {
      close();
      go(link);
      return;
    }
    type(whole, at);
    field.current?.focus();
    // The caret can move only after the text has been rendered.
    requestAnimationFrame(() => field.current?.setSelectionRange(at, at));
  }

  function onKey(event: KeyboardEvent): void {
    const { key } = event;
    const chosen = options[active];
    if (key === 'ArrowDown' || key === 'ArrowUp') {
      open();
      const step = key === 'ArrowDown' ? 1 : -1;
      setActive(((active + 1 + step + options.length + 1) % (options.length + 1)) - 1);
    } else if (key === 'Enter' && chosen !== undefined) choose(chosen);
    else if (key === 'Enter') {
      close();
      // The state may not contain the latest input yet.
      search(field.current?.value ?? text);
    } else if (key === 'Escape' && options.length > 0) {
      close();
      event.stopPropagation();
    } else return;
    event.preventDefault();
  }
  return { options, active, open, close, type, choose, onKey };
}

function Options(props: {
  readonly options: readonly Suggestion[];
  readonly active: number;
  readonly onChoose: (option: Suggestion) => void;
}) {
  return (
    <div id="search-options" role="listbox" aria-label="Suggestions">
      {props.options.map((option, at) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the field handles the keys, and has the focus
        <div
          key={option.label}
          id={`search-option-${at}`}
          role="option"
          aria-selected={at === props.active}
          // The field keeps the focus.
          onPointerDown={(event) => event.preventDefault()}
          onClick={() => props.onChoose(option)}
        >
          <span>{option.label}</span>
          <span class="dim">{option.hint}</span>
        </div>
      ))}
    </div>
  );
}

/** The text of the box, and the search that it requests. The text does not change while the search runs. */
function useSearch(path: string, isList: boolean, query: URLSearchParams) {
  const known = useStore(language);
  const asked = isList ? (known?.searchIn(query) ?? null) : '';
  const [text, setText] = useState('');
  const [fault, setFault] = useState<string | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>();
  // The address that the box itself has set must not replace later input; nor may one that is read after it.
  const own = useRef<string | null>('');

  // On the overview, the reader may not need it.
  useEffect(() => {
    if (path !== '') loadLanguage().catch(() => {});
  }, [path]);
  useEffect(() => {
    if (asked === null) return;
    if (own.current !== null && asked !== own.current) {
      setText(isList ? (known?.formatSearch(query) ?? '') : '');
      setFault(null);
    }
    own.current = asked;
  }, [asked]);
  useEffect(() => () => clearTimeout(timer.current), []);

  function search(value: string): void {
    clearTimeout(timer.current);
    loadLanguage().then(
      (loaded) => request(loaded, value),
      () => {},
    );
  }

  function request({ parseSearch, searchIn, withSearch }: Language, value: string): void {
    try {
      const wanted = parseSearch(value);
      setFault(null);
      const { path: at, id, query: now } = currentRoute.get();
      own.current = searchIn(wanted);
      if (at !== 'tasks' || id !== '') go(linkTo('tasks', wanted));
      else if (own.current !== searchIn(now)) go(linkTo('tasks', withSearch(now, wanted)), true);
    } catch (error) {
      setFault(error instanceof Error ? error.message : String(error));
    }
  }

  function searchSoon(value: string): void {
    clearTimeout(timer.current);
    setFault(null);
    if (language.get() === null) own.current = null;
    if (isList) timer.current = setTimeout(() => search(value), TYPING_MS);
  }
  return { known, text, setText, fault, search, searchSoon };
}
