import { useState } from 'preact/hooks';

/** Whether a reader points at some rows or has the focus in them, so that they must not move. */
export function useHold() {
  const [isHovered, setHovered] = useState(false);
  const [isFocused, setFocused] = useState(false);
  return {
    isHeld: isHovered || isFocused,
    /** For the element that has the rows in it. */
    holders: {
      // A finger that has left the screen does not leave the element.
      onPointerEnter: (event: PointerEvent) => setHovered(event.pointerType !== 'touch'),
      onPointerLeave: () => setHovered(false),
      onFocusIn: () => setFocused(true),
      onFocusOut: (event: FocusEvent) =>
        setFocused(
          event.currentTarget instanceof Node &&
            event.relatedTarget instanceof Node &&
            event.currentTarget.contains(event.relatedTarget),
        ),
    },
  };
}
