/** Keyboard shortcuts of all views. They do not apply while the reader is typing. */
import { go, linkTo } from './route.ts';
import { nextTheme, nextZone } from './settings.ts';
import { createStore } from './store.ts';

/** Whether the list of shortcuts is open. */
export const helpOpen = createStore(false);

/** Views by the key after `g`. */
const PATHS: Readonly<Record<string, string>> = {
  o: '',
  t: 'tasks',
  w: 'workers',
  s: 'schedules',
  c: 'components',
  m: 'metrics',
};

/** The shortcuts, for the help. */
export const SHORTCUTS: readonly (readonly [keys: string, meaning: string])[] = [
  ['g o', 'Overview'],
  ['g t', 'Tasks'],
  ['g w', 'Workers'],
  ['g s', 'Schedules'],
  ['g c', 'Components'],
  ['g m', 'Metrics'],
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
  const path = PATHS[key];
  if (isSecond && path !== undefined) go(linkTo(path));
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
