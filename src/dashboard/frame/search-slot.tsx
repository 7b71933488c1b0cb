import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { lazy } from '../parts/lazy.tsx';
import { currentRoute } from '../route.ts';
import { createStore, useStore } from '../store.ts';
import { FIELD, type PlainField, typedIn } from './search-field.ts';

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

/** The box is loaded after the first screen. After a failure, the next search tries again. */
const Box = lazy(
  async () => (await import('./search-box.tsx')).SearchBox,
  ({ plain }) => (
    <search class="frame-search">
      <input
        {...FIELD}
        ref={(field) => {
          // It is still in the page.
          if (field === null && plain.field !== null) plain.typed = typedIn(plain.field);
          plain.field = field;
        }}
        onFocus={Box.preload}
        onKeyDown={({ key }) => {
          plain.isAsked = key === 'Enter';
          if (plain.isAsked) Box.preload();
        }}
      />
      <kbd>/</kbd>
    </search>
  ),
);

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
  const isShown = isWanted || here.query.has('q');
  const plain = useRef<PlainField>({ field: null, isAsked: false, typed: null });
  useEffect(Box.preload, []);
  // On a phone the field appears with this rendering.
  useLayoutEffect(() => {
    if (isPhone && isWanted) focusField();
  }, [isPhone, isWanted]);
  const field = <Box here={here} plain={plain.current} />;
  if (!isPhone) return field;
  return isShown ? <div class="frame-row">{field}</div> : null;
}
