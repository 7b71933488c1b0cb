import { useEffect, useRef, useState } from 'preact/hooks';

export type ListWindow = ReturnType<typeof useWindow>;

/** Rows on either side of the visible ones. */
const OVERSCAN = 6;

/** The visible part of a scrolling list of rows. @param headHeight height of the head that covers the top of the list */
export function useWindow(rowHeight: number, headHeight: number) {
  const scroller = useRef<HTMLDivElement | null>(null);
  const [view, setView] = useState({ top: 0, height: 0, width: 800 });
  function measure(): void {
    const element = scroller.current;
    if (element === null) return;
    const { scrollTop: top, clientHeight: height, clientWidth: width } = element;
    setView((before) =>
      before.top === top && before.height === height && before.width === width
        ? before
        : { top, height, width },
    );
  }
  // It measures at first too, and before the first paint, without a layout that only we would wait for.
  useEffect(() => {
    const observer = new ResizeObserver(measure);
    if (scroller.current !== null) observer.observe(scroller.current);
    return () => observer.disconnect();
  }, []);

  const visible = Math.ceil((view.height - headHeight) / rowHeight);
  /** Scrolls until a row is visible. @param isCentred to the middle. Default: as little as possible */
  function reveal(index: number, isCentred = false): void {
    const element = scroller.current;
    if (element === null) return;
    const room = element.clientHeight - headHeight - rowHeight;
    const top = index * rowHeight;
    if (top >= element.scrollTop && top <= element.scrollTop + room) return;
    if (isCentred) element.scrollTop = top - room / 2;
    else element.scrollTop = top < element.scrollTop ? top : top - room;
    measure();
  }
  return {
    scroller,
    /** How far it is scrolled, and its size without its scrollbar; 0 until it is measured. */
    ...view,
    /** Number of rows that fit on the screen. */
    page: Math.max(1, visible - 1),
    measure,
    reveal,
    /** The rows to render: the visible ones, some on either side, and one that must stay. Default: none */
    indexes(count: number, kept = count): readonly number[] {
      const first = Math.min(Math.floor(view.top / rowHeight), Math.max(0, count - visible));
      const from = Math.max(0, first - OVERSCAN);
      const to = Math.min(count, first + visible + OVERSCAN);
      const shown = Array.from({ length: to - from }, (_, index) => from + index);
      // In the order of the rows: moving a row in the document would cancel a click in progress.
      if (kept < from && kept < count) return [kept, ...shown];
      return kept >= to && kept < count ? [...shown, kept] : shown;
    },
    /** Scrolls to a row and focuses the element that matches the selector. */
    show(index: number, selector: string) {
      reveal(index);
      scroller.current?.querySelector<HTMLElement>(selector)?.focus({ preventScroll: true });
    },
  };
}
