import { useState } from 'preact/hooks';
import { Dialog } from '../parts/dialog.tsx';
import type { Words } from '../text/words.ts';
import { ActiveFilters, activeFilters } from './active-filters.tsx';
import { Filters } from './filters.tsx';

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
          <div class="filters">
            <Filters query={query} words={words} />
          </div>
          <ActiveFilters query={query} isWhole />
        </Dialog>
      )}
    </>
  );
}
