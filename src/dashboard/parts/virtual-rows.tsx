/** Renders only the visible rows of a list whose rows all have the same height. */
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import { type ListWindow, rowKeys, useKeys, useWindow } from './long-list.ts';
import type { FocusHolders } from './use-hold.ts';

/** The next page is read when its start is this many rows away. */
const AHEAD = 4;

/** A scrolling list, below a head that is as high as a row. */
export function VirtualRows(props: {
  readonly count: number;
  readonly rowHeight: number;
  readonly label: string;
  readonly rowCount: number;
  readonly head: ComponentChildren;
  readonly row: (index: number, isActive: boolean) => ComponentChildren;
  /** Called when the last rows become visible. */
  readonly onEnd: () => void;
  /** Called when the reader has scrolled, and when the top of the list is visible again. */
  readonly onScrolled: (isScrolled: boolean) => void;
  /** Handlers for the element that contains the rows. */
  readonly focus: FocusHolders;
  /** Identifies the list: a new list starts at its top. */
  readonly listKey: string;
}) {
  const { count, rowHeight, label, rowCount, head, row, onEnd, onScrolled, focus, listKey } = props;
  const list = useWindow(rowHeight, rowHeight);
  const [active, move] = useActiveRow(list, count);
  useKeys(rowKeys(count, list.page, move));
  useEffect(() => {
    list.scroller.current?.scrollTo(0, 0);
    move(null);
  }, [listKey]);
  const isScrolled = list.top >= rowHeight;
  useEffect(() => onScrolled(isScrolled), [isScrolled]);
  const visible = Math.ceil((list.top + list.height) / rowHeight);
  useEffect(() => {
    if (visible >= count - AHEAD) onEnd();
  }, [visible, count, onEnd]);

  const indexes = list.indexes(count);
  const top = (indexes[0] ?? 0) * rowHeight;
  return (
    <div
      class="scroller"
      ref={list.scroller}
      onScroll={list.measure}
      tabIndex={0}
      role="region"
      aria-label={label}
    >
      <div role="table" aria-label={label} aria-rowcount={rowCount}>
        {head}
        <div role="rowgroup" class="rows" style={{ height: `${count * rowHeight}px` }} {...focus}>
          <div class="window" style={{ transform: `translateY(${top}px)` }} role="presentation">
            {indexes.map((index) => row(index, index === Math.min(active, count - 1)))}
          </div>
        </div>
      </div>
    </div>
  );
}

/** The row selected by keys, and how to move from it; `null` starts again at the first. */
function useActiveRow(
  list: ListWindow,
  count: number,
): readonly [active: number, move: (step: number | null) => void] {
  const [active, setActive] = useState(0);
  const [moves, setMoves] = useState(0);
  const link = (): HTMLElement | null | undefined =>
    list.scroller.current?.querySelector<HTMLElement>('[data-active] a');
  // Immediately, so that the next key finds the focus on the right element.
  useLayoutEffect(() => {
    if (moves > 0) link()?.focus({ preventScroll: true });
  }, [moves]);

  function move(step: number | null): void {
    if (step === null) {
      setActive(0);
      return;
    }
    // The first key only shows the selected row.
    const isFirst = Math.abs(step) === 1 && document.activeElement !== link();
    const next = Math.min(count - 1, Math.max(0, active + (isFirst && active === 0 ? 0 : step)));
    if (next < 0) return;
    list.reveal(next);
    setActive(next);
    setMoves((before) => before + 1);
  }

  return [active, move];
}
