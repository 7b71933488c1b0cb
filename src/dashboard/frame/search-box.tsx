import { useEffect, useRef, useState } from 'preact/hooks';
import { go, linkTo, type Route } from '../route.ts';
import { withFilter } from '../tasks/list-query.ts';

const TYPING_MS = 250;

/** Searches tasks: while somebody types in the list of them, elsewhere after Enter. */
export function SearchBox({ here }: { readonly here: Route }) {
  const isList = here.path === 'tasks' && here.id === '';
  const asked = isList ? (here.query.get('q') ?? '') : '';
  const [text, setText] = useState(asked);
  const field = useRef<HTMLInputElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>();
  // What this field itself asked for must not replace what was typed meanwhile.
  const own = useRef(asked);
  useEffect(() => {
    if (asked !== own.current) setText(asked);
    own.current = asked;
  }, [asked]);
  useEffect(() => () => clearTimeout(timer.current), []);

  function search(value: string): void {
    clearTimeout(timer.current);
    const wanted = value.trim();
    if (wanted === asked) return;
    own.current = wanted;
    go(linkTo('tasks', isList ? withFilter(here.query, 'q', [wanted]) : { q: wanted }), isList);
  }

  return (
    <form
      class="frame-search"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        // What was typed last may not be in the state yet.
        search(field.current?.value ?? text);
      }}
    >
      <input
        ref={field}
        type="search"
        aria-label="Search"
        value={text}
        maxLength={200}
        placeholder="Search tasks: id, name, worker, arguments, error, result  ( / )"
        onInput={(event) => {
          const { value } = event.currentTarget;
          setText(value);
          clearTimeout(timer.current);
          if (isList) timer.current = setTimeout(() => search(value), TYPING_MS);
        }}
      />
    </form>
  );
}
