import { useEffect, useRef } from 'preact/hooks';
import { helpOpen } from '../page-state.ts';

/** Elements that handle keys themselves. */
const OTHERS = 'input, select, textarea, button, dialog, pre, [contenteditable]';

/**
 * Moves through the rows of the list by keys, wherever the focus is.
 *
 * @param page rows of a screen
 * @param move called with the number of rows to move by
 */
export function useRowKeys(count: number, page: number, move: (step: number) => void): void {
  const latest = useRef({ count, page, move });
  latest.current = { count, page, move };
  useEffect(() => {
    function onKey(event: KeyboardEvent): void {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || helpOpen.get()) return;
      if (event.target instanceof HTMLElement && event.target.closest(OTHERS) !== null) return;
      const { count: most, page: some, move: go } = latest.current;
      const steps: Readonly<Record<string, number>> = {
        ArrowDown: 1,
        j: 1,
        ArrowUp: -1,
        k: -1,
        PageDown: some,
        PageUp: -some,
        Home: -most,
        End: most,
      };
      const step = steps[event.key];
      if (step === undefined) return;
      event.preventDefault();
      go(step);
    }
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
}
