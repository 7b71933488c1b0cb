/** The reader's settings, stored in this browser if it permits. */
import { createStore } from './store.ts';

/** Colour scheme; `auto` follows the browser. */
export type Theme = 'auto' | 'light' | 'dark';
/** Zone in which times are shown. */
export type Zone = 'local' | 'utc';

const KEYS = { theme: 'task-monitor.theme', zone: 'task-monitor.zone' };

function recall<T extends string>(key: string, known: readonly T[], fallback: T): T {
  try {
    const value = localStorage.getItem(key);
    return known.find((candidate) => candidate === value) ?? fallback;
  } catch {
    return fallback;
  }
}

function remember(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // Storage is disabled: the setting lasts until the tab is closed.
  }
}

const THEMES: readonly Theme[] = ['auto', 'light', 'dark'];

/** The chosen colour scheme. Default `auto`. */
export const theme = createStore<Theme>(recall(KEYS.theme, THEMES, 'auto'));
/** The chosen zone. Default `local`. */
export const zone = createStore<Zone>(recall(KEYS.zone, ['local', 'utc'], 'local'));

function applyTheme(): void {
  const chosen = theme.get();
  if (chosen === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
}
applyTheme();

theme.subscribe(() => {
  applyTheme();
  remember(KEYS.theme, theme.get());
});
zone.subscribe(() => remember(KEYS.zone, zone.get()));

/** Switches to the next colour scheme. */
export function nextTheme(): void {
  theme.set(THEMES[(THEMES.indexOf(theme.get()) + 1) % THEMES.length] ?? 'auto');
}

/** Switches between local time and UTC. */
export function nextZone(): void {
  zone.set(zone.get() === 'local' ? 'utc' : 'local');
}
