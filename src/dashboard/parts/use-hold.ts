import { useEffect, useRef, useState } from 'preact/hooks';
import { useHoldReport } from '../live/pace.ts';

/** Milliseconds for which rows stay after the pointer has left them: enough to reach the button that shows the news. */
const LEAVE_MS = 400;

/** Handlers for the element that contains the rows. */
export interface FocusHolders {
  readonly onFocusIn: (event: FocusEvent) => void;
  readonly onFocusOut: () => void;
}

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
  useHoldReport(isHovered || isFocused, () => {
    setHovered(false);
    setFocused(false);
  });
  const focus: FocusHolders = {
    onFocusIn(event) {
      rows.current = event.currentTarget;
      setFocused(true);
    },
    onFocusOut: () => setFocused(false),
  };
  return {
    isHeld: isHovered || isFocused,
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
