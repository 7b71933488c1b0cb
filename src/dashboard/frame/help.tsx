import { useEffect, useRef } from 'preact/hooks';
import { helpOpen } from '../help-open.ts';
import { VIEWS } from '../views.ts';

const SHORTCUTS: readonly (readonly [keys: string, meaning: string])[] = [
  ...VIEWS.flatMap(({ key, title }) => (key === undefined ? [] : [[`g ${key}`, title] as const])),
  ['/', 'Search'],
  ['↓ ↑ or j k', 'Next and previous row of a list'],
  ['Enter', 'Open the row'],
  ['[ ]', 'Previous and next of the list, while one is open'],
  ['Esc', 'Leave a field, close a panel, go back'],
  ['c', 'Compare with the period before'],
  ['l', 'Pause or go on; show what is new'],
  ['y', 'Copy the link'],
  ['d', 'Theme: system, light, dark'],
  ['u', 'Times: local, UTC'],
  ['?', 'Keyboard shortcuts'],
];

/** The list of shortcuts. */
export function Help() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby="help-title" onClose={() => helpOpen.set(false)}>
      <h2 id="help-title">Keyboard</h2>
      <dl class="keys">
        {SHORTCUTS.map(([keys, meaning]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <button type="button" onClick={() => helpOpen.set(false)}>
        Close
      </button>
    </dialog>
  );
}
