import { useEffect } from 'preact/hooks';
import { currentRoute } from '../route.ts';
import { createStore, useStore } from '../store.ts';
import type { SearchBox as Box } from './search-box.tsx';

/** Whether the search is open on a phone, where it has no place of its own. */
const isOpen = createStore(false);

/** Puts the cursor into the search. */
export function focusSearch(): void {
  isOpen.set(true);
  // At once, so that the next key goes there; else once it has been loaded and has appeared.
  if (!focusField()) void loadBox().then(() => requestAnimationFrame(focusField));
}

function focusField(): boolean {
  const field = document.querySelector<HTMLInputElement>('.frame-search input');
  field?.focus();
  field?.select();
  return field !== null;
}

/** The box is loaded behind the first screen. */
const box = createStore<{ readonly Box: typeof Box } | null>(null);

async function loadBox(): Promise<void> {
  const { SearchBox } = await import('./search-box.tsx');
  if (box.get() === null) box.set({ Box: SearchBox });
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

/** The search. On a phone it is a row of its own while it is open, or while something is searched for. */
export function SearchSlot({ isPhone }: { readonly isPhone: boolean }) {
  const here = useStore(currentRoute);
  const isShown = useStore(isOpen) || here.query.has('q');
  const loaded = useStore(box);
  // A failure is tried again by whoever searches.
  useEffect(() => void loadBox().catch(() => {}), []);
  const field = loaded === null ? <div class="frame-search" /> : <loaded.Box here={here} />;
  if (!isPhone) return field;
  return isShown ? <div class="frame-row">{field}</div> : null;
}
