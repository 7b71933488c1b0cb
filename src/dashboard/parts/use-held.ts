import { useRef } from 'preact/hooks';

/** The value, or while it is held the one that was there before. */
export function useHeldValue<T>(value: T, isHeld: boolean): T {
  const before = useRef(value);
  if (!isHeld) before.current = value;
  return before.current;
}
