import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { lazy } from '../parts/lazy.tsx';
import { currentRoute, type Route } from '../route.ts';
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

interface SlotProps {
  readonly here: Route;
  readonly plain: PlainField;
  /** Whether the reader has been in the field. */
  readonly isUsed: boolean;
  readonly onUse: () => void;
}

/** On the overview, the box is loaded when the reader needs it. After a failure, the next search tries again. */
const Box = lazy<SlotProps>(
  async () => (await import('./search-box.tsx')).SearchBox,
  ({ plain, onUse }) => (
    <search class="frame-search">
      <input
        {...FIELD}
        ref={(field) => {
          // It is still in the page.
          if (field === null && plain.field !== null) plain.typed = typedIn(plain.field);
          plain.field = field;
        }}
        onFocus={() => {
          onUse();
          Box.preload();
        }}
        onKeyDown={({ key }) => {
          plain.isAsked = key === 'Enter';
          if (plain.isAsked) Box.preload();
        }}
      />
      <kbd>/</kbd>
    </search>
  ),
  ({ here, isUsed }) => isUsed || here.path !== '',
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
  const [isUsed, setUsed] = useState(false);
  // On a phone the field appears with this rendering.
  useLayoutEffect(() => {
    if (isPhone && isWanted) focusField();
  }, [isPhone, isWanted]);
  const field = <Box here={here} plain={plain.current} isUsed={isUsed} onUse={() => setUsed(true)} />;
  if (!isPhone) return field;
  return isShown ? <div class="frame-row">{field}</div> : null;
}
