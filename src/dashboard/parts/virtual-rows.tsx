/** Renders only the visible rows of a list whose rows all have the same height. */
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { FocusHolders } from './use-hold.ts';
import { useRowKeys } from './use-row-keys.ts';

/** Properties of {@link VirtualRows}. */
export interface VirtualRowsProps {
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
}

const OVERSCAN = 8;
/** The next page is read when its start is this many rows away. */
const AHEAD = 4;

/** A scrolling list. */
export function VirtualRows(props: VirtualRowsProps) {
  const { count, rowHeight, label, rowCount, head, row, onEnd, onScrolled, focus, listKey } = props;
  const { scroller, view, measure } = useView();
  const [active, activate] = useActiveRow(scroller, count, rowHeight, measure);
  const page = Math.max(1, Math.floor(view.height / rowHeight) - 2);
  useRowKeys(count, page, activate);
  useEffect(() => {
    scroller.current?.scrollTo(0, 0);
    activate(null);
  }, [listKey]);
  const isScrolled = view.top >= rowHeight;
  useEffect(() => onScrolled(isScrolled), [isScrolled]);

  const visible = Math.ceil((view.top + view.height) / rowHeight);
  useEffect(() => {
    if (visible >= count - AHEAD) onEnd();
  }, [visible, count, onEnd]);

  const from = Math.max(0, Math.floor(view.top / rowHeight) - OVERSCAN);
  const to = Math.min(count, visible + OVERSCAN);
  const rows = [];
  for (let index = from; index < to; index += 1) rows.push(row(index, index === Math.min(active, count - 1)));
  return (
    <div class="scroller" ref={scroller} onScroll={measure} tabIndex={0} role="region" aria-label={label}>
      <div role="table" aria-label={label} aria-rowcount={rowCount}>
        {head}
        <div role="rowgroup" class="rows" style={{ height: `${count * rowHeight}px` }} {...focus}>
          <div class="window" style={{ transform: `translateY(${from * rowHeight}px)` }} role="presentation">
            {rows}
          </div>
        </div>
      </div>
    </div>
  );
}

/** Which part of the list is visible. */
function useView() {
  const scroller = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 800 });
  function measure(): void {
    const element = scroller.current;
    if (element === null) return;
    const { scrollTop, clientHeight } = element;
    setView((before) =>
      before.top === scrollTop && before.height === clientHeight
        ? before
        : { top: scrollTop, height: clientHeight },
    );
  }
  useLayoutEffect(measure, []);
  useEffect(() => {
    const observer = new ResizeObserver(measure);
    if (scroller.current !== null) observer.observe(scroller.current);
    return () => observer.disconnect();
  }, []);
  return { scroller, view, measure };
}

/** The row selected by keys, and how to move from it; `null` starts again at the first. */
function useActiveRow(
  scroller: { readonly current: HTMLDivElement | null },
  count: number,
  rowHeight: number,
  measure: () => void,
): readonly [active: number, move: (step: number | null) => void] {
  const [active, setActive] = useState(0);
  const [moves, setMoves] = useState(0);
  const link = (): HTMLElement | null | undefined =>
    scroller.current?.querySelector<HTMLElement>('[data-active] a');
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
    const element = scroller.current;
    if (element !== null) {
      const top = next * rowHeight;
      const room = element.clientHeight - rowHeight * 2;
      if (top < element.scrollTop) element.scrollTop = top;
      else if (top > element.scrollTop + room) element.scrollTop = top - room;
      measure();
    }
    setActive(next);
    setMoves((before) => before + 1);
  }

  return [active, move];
}
