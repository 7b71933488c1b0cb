/** Keyboard shortcuts of all views. They do not apply while the reader is typing. */
import { helpOpen } from '../help-open.ts';
import { go, linkTo } from '../route.ts';
import { nextTheme, nextZone } from '../settings.ts';
import { VIEWS } from '../views.ts';

/** The shortcuts, for the help. */
export const SHORTCUTS: readonly (readonly [keys: string, meaning: string])[] = [
  ...VIEWS.flatMap(({ key, title }) => (key === undefined ? [] : [[`g ${key}`, title] as const])),
  ['/', 'Search'],
  ['↓ ↑ or j k', 'Next and previous row of a list'],
  ['Enter', 'Open the row'],
  ['Esc', 'Leave a field, close this list'],
  ['d', 'Theme: system, light, dark'],
  ['u', 'Times: local, UTC'],
  ['?', 'Keyboard shortcuts'],
];

let wentAt = 0;

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches('input, select, textarea, [contenteditable]');
}

function onKey(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (isTyping(event.target)) {
    if (event.key === 'Escape') (event.target as HTMLElement).blur();
    return;
  }
  if (helpOpen.get()) return;
  const { key } = event;
  const isSecond = Date.now() - wentAt < 1_500;
  wentAt = key === 'g' ? Date.now() : 0;
  const view = isSecond ? VIEWS.find((candidate) => candidate.key === key) : undefined;
  if (view !== undefined) go(linkTo(view.path));
  else if (key === '/') focusSearch();
  else if (key === '?') helpOpen.set(true);
  else if (key === 'd') nextTheme();
  else if (key === 'u') nextZone();
  else return;
  event.preventDefault();
}

function focusSearch(): void {
  const field = document.querySelector<HTMLInputElement>('main input[type="search"]');
  if (field === null) go(linkTo('tasks'));
  else {
    field.focus();
    field.select();
  }
}

/** Starts to handle the shortcuts. Call it once. */
export function listenToKeys(): void {
  document.addEventListener('keydown', onKey);
}
