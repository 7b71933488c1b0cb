/**
 * When the page moves: the current time, and whether it is live. It is, unless the reader has paused it or points at
 * rows, which then stay.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import { createStore } from '../store.ts';

/** Whether the reader has paused the page. It then loads only views that the reader opens. */
export const isPaused = createStore(false);

/** Changes that arrived while rows are held. */
export interface News {
  readonly count: number;
  /** Whether more arrived than was counted. */
  readonly isPartial: boolean;
}

/** Rows that stay where they are, although there are changes. */
export interface Hold extends News {
  /** Shows the changes. */
  readonly release: () => void;
}

/** The rows that are held now; `null`: none, or nothing has changed. */
export const held = createStore<Hold | null>(null);

/** Tells the frame what has changed while rows are held. @param release shows it */
export function useHoldReport(news: News | null, release: () => void): void {
  const latest = useRef(release);
  latest.current = release;
  const { count = 0, isPartial = false } = news ?? {};
  useEffect(() => {
    held.set(count === 0 ? null : { count, isPartial, release: () => latest.current() });
  }, [count, isPartial]);
  useEffect(() => () => held.set(null), []);
}

/** The current time, updated once a second while the tab is visible. */
export const clock = createStore(Date.now());

const tick = (): void => {
  if (!document.hidden) clock.set(Date.now());
};
setInterval(tick, 1_000);
document.addEventListener('visibilitychange', tick);

/** Milliseconds for which rows stay after the pointer has left them: enough to reach the button that shows the news. */
const LEAVE_MS = 400;

/** Whether the reader points at rows or has the focus in them, so that they must not move. */
export function useHold() {
  const [isHovered, setHovered] = useState(false);
  const [isFocused, setFocused] = useState(false);
  const rows = useRef<EventTarget | null>(null);
  const hovered = useRef<EventTarget | null>(null);
  const leaving = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  function leave(): void {
    clearTimeout(leaving.current);
    // Otherwise, the button has turned into "Live" by the time it is pressed, and pauses the page.
    leaving.current = setTimeout(
      () => (document.querySelector('.live:hover') === null ? setHovered(false) : leave()),
      LEAVE_MS,
    );
  }
  useEffect(() => () => clearTimeout(leaving.current), []);
  useEffect(() => {
    // An element that is removed loses the pointer and the focus without an event.
    if (isHovered && !(hovered.current instanceof Node && hovered.current.isConnected)) setHovered(false);
    const isGone = !(rows.current instanceof Node && rows.current.contains(document.activeElement));
    if (isFocused && isGone) setFocused(false);
  });
  /** For the element that contains the rows. */
  const focus = {
    onFocusIn(event: FocusEvent) {
      rows.current = event.currentTarget;
      setFocused(true);
    },
    onFocusOut: () => setFocused(false),
  };
  return {
    isHeld: isHovered || isFocused,
    release() {
      setHovered(false);
      setFocused(false);
    },
    /** For the element that contains the rows and the actions on them. */
    pointer: {
      onPointerEnter(event: PointerEvent) {
        clearTimeout(leaving.current);
        hovered.current = event.currentTarget;
        // A finger that is lifted from the screen does not leave the element.
        setHovered(event.pointerType !== 'touch');
      },
      onPointerLeave: leave,
    },
    focus,
  };
}

/**
 * The rows in the order to show, and the handlers for the element that contains them. While they are held, each row
 * stays where it was and shows its latest data, and new rows are added at the end.
 *
 * @param keyOf identifies a row
 * @param order identifies the order: rows in a new one are shown at once
 */
export function useHeldRows<Row>(rows: readonly Row[], keyOf: (row: Row) => string, order = '') {
  const { isHeld, pointer, focus } = useHold();
  const before = useRef({ order, rows });
  // An empty list is never held: the user may have lost the right to see the rows.
  if (!isHeld || rows.length === 0 || before.current.order !== order) before.current = { order, rows };
  else {
    const known = new Set(before.current.rows.map(keyOf));
    const added = rows.filter((row) => !known.has(keyOf(row)));
    before.current = { order, rows: [...inPlace(before.current.rows, rows, keyOf), ...added] };
  }
  return { rows: before.current.rows, holders: { ...pointer, ...focus } };
}

/** The rows in their own order, each with its latest data. */
export function inPlace<Row>(
  rows: readonly Row[],
  latest: readonly Row[],
  keyOf: (row: Row) => string,
): readonly Row[] {
  const known = new Map(latest.map((row) => [keyOf(row), row]));
  return rows.map((row) => known.get(keyOf(row)) ?? row);
}
