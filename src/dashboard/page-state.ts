/**
 * What the page remembers: what it said and listed last, and the reader's settings, which this browser keeps if it
 * permits.
 */
import { createStore, type Store } from './store.ts';
import type { Zone } from './text/format.ts';

/** The latest action of the page, shown for a moment. */
export const said = createStore('');

const SHOWN_MS = 2_000;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Tells the reader what the page has done. */
export function say(text: string): void {
  clearTimeout(timer);
  said.set(text);
  timer = setTimeout(() => said.set(''), SHOWN_MS);
}

/** Whether the list of shortcuts is open. Rows then ignore keys. */
export const helpOpen = createStore(false);

/** Links to the rows of the list that was open last, in its order: `[` and `]` go from one to the next. */
export const listed = createStore<readonly string[]>([]);

/** Colour scheme; `auto` follows the browser. */
export type Theme = 'auto' | 'light' | 'dark';

/** Without storage, a setting lasts until the tab is closed. */
function stored<T>(name: string, read: (text: string) => T, write: (value: T) => string): Store<T> {
  const key = `task-monitor.${name}`;
  let text = '';
  try {
    text = localStorage.getItem(key) ?? '';
  } catch {
    // It is disabled.
  }
  const store = createStore(read(text));
  store.subscribe(() => {
    try {
      localStorage.setItem(key, write(store.get()));
    } catch {
      // It is disabled.
    }
  });
  return store;
}

const THEMES: readonly Theme[] = ['auto', 'light', 'dark'];

/** The chosen colour scheme. Default `auto`. */
export const theme = stored<Theme>(
  'theme',
  (text) => THEMES.find((known) => known === text) ?? 'auto',
  String,
);
/** The chosen zone. Default `local`. */
export const zone = stored<Zone>('zone', (text) => (text === 'utc' ? 'utc' : 'local'), String);
/** Hints that the reader has dismissed from the overview. */
export const dismissed = stored<readonly string[]>(
  'hidden-hints',
  (text) => text.split('\n'),
  (hints) => hints.join('\n'),
);

function applyTheme(): void {
  const chosen = theme.get();
  if (chosen === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
}
applyTheme();
theme.subscribe(applyTheme);

/** Dismisses a hint from the overview, or shows it there again. */
export function toggleDismissed(hint: string): void {
  const others = dismissed.get().filter((other) => other !== hint);
  dismissed.set(others.length === dismissed.get().length ? [hint, ...others] : others);
}

/** Switches to the next colour scheme. */
export function nextTheme(): void {
  theme.set(THEMES[(THEMES.indexOf(theme.get()) + 1) % THEMES.length] ?? 'auto');
}

/** Switches between local time and UTC. */
export function nextZone(): void {
  zone.set(zone.get() === 'local' ? 'utc' : 'local');
}
