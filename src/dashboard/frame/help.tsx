import { helpOpen } from '../page-state.ts';
import { Dialog } from '../parts/dialog.tsx';
import { VIEWS } from '../views.tsx';

const SHORTCUTS: readonly (readonly [keys: string, meaning: string])[] = [
  ...VIEWS.flatMap(({ key, title }) => (key === undefined ? [] : [[`g ${key}`, title] as const])),
  ['/', 'Search'],
  ['↓ ↑ or j k', 'Next and previous row of a list'],
  ['Enter', 'Open the row'],
  ['[ ]', 'Previous and next item while one is open'],
  ['Esc', 'Leave a field, close a panel, go back'],
  ['c', 'Compare with the previous period'],
  ['l', 'Pause or resume; show new items'],
  ['y', 'Copy the link'],
  ['d', 'Theme: system, light, dark'],
  ['u', 'Times: local, UTC'],
  ['?', 'Keyboard shortcuts'],
];

/** The list of shortcuts. */
export function Help() {
  return (
    <Dialog id="help-title" title="Keyboard" done="Close" onClose={() => helpOpen.set(false)}>
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
    </Dialog>
  );
}
