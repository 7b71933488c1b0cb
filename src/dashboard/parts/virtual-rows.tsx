/** Renders only the visible rows of a list whose rows all have the same height. */
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

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
  readonly onTop: (isAtTop: boolean) => void;
  /** Identifies the list: a new list starts at its top. */
  readonly listKey: string;
}

const OVERSCAN = 8;

/** A scrolling list. */
export function VirtualRows(props: VirtualRowsProps) {
  const { count, rowHeight, label, rowCount, head, row, onEnd, onTop, listKey } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 800 });
  const [active, setActive] = useState(0);
  const wantsFocus = useRef(false);

  function measure(): void {
    const element = scroller.current;
    if (element === null) return;
    const { scrollTop, clientHeight } = element;
    setView((before) =>
      before.top === scrollTop && before.height === clientHeight
        ? before
        : { top: scrollTop, height: clientHeight },
    );
    onTop(scrollTop < rowHeight);
  }

  useLayoutEffect(measure, []);
  useEffect(() => {
    const observer = new ResizeObserver(measure);
    if (scroller.current !== null) observer.observe(scroller.current);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    scroller.current?.scrollTo(0, 0);
    setActive(0);
  }, [listKey]);

  const from = Math.max(0, Math.floor(view.top / rowHeight) - OVERSCAN);
  const to = Math.min(count, Math.ceil((view.top + view.height) / rowHeight) + OVERSCAN);
  useEffect(() => {
    if (to >= count - OVERSCAN) onEnd();
  }, [to, count, onEnd]);

  useEffect(() => {
    if (!wantsFocus.current) return;
    wantsFocus.current = false;
    scroller.current?.querySelector<HTMLElement>('[data-active] a')?.focus({ preventScroll: true });
  }, [active]);

  function move(step: number): void {
    const next = Math.min(count - 1, Math.max(0, active + step));
    if (next < 0) return;
    const element = scroller.current;
    if (element !== null) {
      const top = next * rowHeight;
      const room = element.clientHeight - rowHeight * 2;
      if (top < element.scrollTop) element.scrollTop = top;
      else if (top > element.scrollTop + room) element.scrollTop = top - room;
      measure();
    }
    wantsFocus.current = true;
    setActive(next);
  }

  function onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(view.height / rowHeight) - 2);
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: 1,
      j: 1,
      ArrowUp: -1,
      k: -1,
      PageDown: page,
      PageUp: -page,
      Home: -count,
      End: count,
    };
    const step = steps[event.key];
    if (step === undefined || event.target instanceof HTMLButtonElement) return;
    event.preventDefault();
    move(step);
  }

  const rows = [];
  for (let index = from; index < to; index += 1) rows.push(row(index, index === Math.min(active, count - 1)));
  return (
    <div
      class="scroller"
      ref={scroller}
      onScroll={measure}
      onKeyDown={onKey}
      tabIndex={0}
      role="region"
      aria-label={label}
    >
      <div role="table" aria-label={label} aria-rowcount={rowCount}>
        {head}
        <div role="rowgroup" class="rows" style={{ height: `${count * rowHeight}px` }}>
          <div class="window" style={{ transform: `translateY(${from * rowHeight}px)` }} role="presentation">
            {rows}
          </div>
        </div>
      </div>
    </div>
  );
}
