import { useEffect, useRef } from 'preact/hooks';

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
