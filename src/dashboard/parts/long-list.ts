/** A scrolling list of rows of one height: which of them are visible, and the keys that move through them. */
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

/** Elements that handle keys themselves. */
const OTHERS = 'input, select, textarea, pre, [contenteditable]';

/** Calls the action of a key, wherever the focus is. @param actions by `KeyboardEvent.key` */
export function useKeys(actions: Readonly<Record<string, () => void>>): void {
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    function onKey(event: KeyboardEvent): void {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      const { target, key } = event;
      const isIn = (selector: string) => target instanceof Element && target.closest(selector) !== null;
      if (isIn(OTHERS) || document.querySelector('dialog[open]') !== null) return;
      // Links and buttons have an action of their own.
      if (key === 'Enter' && isIn('a, button')) return;
      const action = Object.hasOwn(latest.current, key) ? latest.current[key] : undefined;
      if (action === undefined) return;
      event.preventDefault();
      action();
    }
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
}

/** The actions of the keys that move through the rows of a list. @param page rows of a screen */
export function rowKeys(count: number, page: number, move: (step: number) => void) {
  const [down, up] = [() => move(1), () => move(-1)];
  return {
    ArrowDown: down,
    j: down,
    ArrowUp: up,
    k: up,
    PageDown: () => move(page),
    PageUp: () => move(-page),
    Home: () => move(-count),
    End: () => move(count),
  };
}
