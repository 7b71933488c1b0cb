import { useEffect, useRef } from 'preact/hooks';
import { helpOpen } from '../page-state.ts';

/** Elements that handle keys themselves. */
const OTHERS = 'input, select, textarea, dialog, [contenteditable], [role="separator"]';

/** Calls the action of a key, wherever the focus is. @param actions by `KeyboardEvent.key` */
export function useTreeKeys(actions: Readonly<Record<string, () => void>>): void {
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    function onKey(event: KeyboardEvent): void {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || helpOpen.get()) return;
      const { target, key } = event;
      if (target instanceof HTMLElement && target.closest(OTHERS) !== null) return;
      // Links and buttons have an action of their own.
      if (key === 'Enter' && target instanceof HTMLElement && target.closest('a, button') !== null) return;
      const action = Object.hasOwn(latest.current, key) ? latest.current[key] : undefined;
      if (action === undefined) return;
      event.preventDefault();
      action();
    }
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
}
