import '../style/search.css';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { currentRoute, go, linkTo, type Route } from '../route.ts';
import { SEARCH_PARAMETERS } from '../search/fields.ts';
import { formatSearch, parseSearch, withSearch } from '../search/parse.ts';
import { type Facets, readFacets, type Suggestion, suggest } from '../search/suggest.ts';
import { FIELD, type PlainField } from './search-field.ts';

const TYPING_MS = 250;

/** The search of all views. In the list it searches while the reader types; elsewhere Enter opens the list. */
export function SearchBox(props: {
  readonly here: Route;
  /** The field that the box replaces: the reader may already be typing there. */
  readonly plain: PlainField;
}) {
  const { path, id, query } = props.here;
  const field = useRef<HTMLInputElement>(null);
  const asking = useSearch(path === 'tasks' && id === '', query);
  const { text, fault } = asking;
  const { options, active, open, close, type, choose, onKey } = useSuggestions(field, asking);
  useLayoutEffect(() => {
    const { typed, isAsked } = props.plain;
    props.plain.typed = null;
    if (typed === null) return;
    if (typed.hasFocus) field.current?.focus();
    if (typed.value === '') return;
    type(typed.value, typed.end);
    if (field.current !== null) field.current.value = typed.value;
    if (typed.hasFocus) field.current?.setSelectionRange(typed.start, typed.end);
    if (isAsked) asking.search(typed.value);
  }, []);
  return (
    <search class="frame-search">
      <input
        {...FIELD}
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
      <div class="search-panel" hidden={options.length === 0 && fault === null}>
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
  { text, setText, search, searchSoon }: ReturnType<typeof useSearch>,
) {
  const [facets, setFacets] = useState<Facets>({});
  const [caret, setCaret] = useState(0);
  const [isOpen, setOpen] = useState(false);
  const [active, setActive] = useState(-1);
  const options = isOpen ? suggest(text, caret, facets) : [];
  const close = (): void => setOpen(false);

  function open(): void {
    setOpen(true);
    void readFacets().then(setFacets);
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
function useSearch(isList: boolean, query: URLSearchParams) {
  const asked = isList ? searchIn(query) : '';
  const [text, setText] = useState(() => (isList ? formatSearch(query) : ''));
  const [fault, setFault] = useState<string | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>();
  // The address that the box itself has set must not replace later input.
  const own = useRef(asked);
  useEffect(() => {
    if (asked !== own.current) {
      setText(isList ? formatSearch(query) : '');
      setFault(null);
    }
    own.current = asked;
  }, [asked]);
  useEffect(() => () => clearTimeout(timer.current), []);

  function search(value: string): void {
    clearTimeout(timer.current);
    try {
      const wanted = parseSearch(value);
      setFault(null);
      const { path, id, query: here } = currentRoute.get();
      own.current = searchIn(wanted);
      if (path !== 'tasks' || id !== '') go(linkTo('tasks', wanted));
      else if (own.current !== searchIn(here)) {
        go(linkTo('tasks', withSearch(here, wanted, SEARCH_PARAMETERS)), true);
      }
    } catch (error) {
      setFault(error instanceof Error ? error.message : String(error));
    }
  }

  function searchSoon(value: string): void {
    clearTimeout(timer.current);
    setFault(null);
    if (isList) timer.current = setTimeout(() => search(value), TYPING_MS);
  }
  return { text, setText, fault, search, searchSoon };
}

/** The part of an address that the box writes, in its order. */
function searchIn(query: URLSearchParams): string {
  try {
    return parseSearch(formatSearch(query)).toString();
  } catch {
    return '';
  }
}
