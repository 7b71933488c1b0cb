/** The reader's settings, stored in this browser if it permits. */
import { createStore } from './store.ts';
import type { Zone } from './text/moments.ts';

/** Colour scheme; `auto` follows the browser. */
export type Theme = 'auto' | 'light' | 'dark';

const KEYS = { theme: 'task-monitor.theme', zone: 'task-monitor.zone', dismissed: 'task-monitor.dismissed' };

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

/** More hints than any deployment has. */
const MOST_DISMISSED = 50;

function readDismissed(): readonly string[] {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(KEYS.dismissed) ?? '[]');
    return Array.isArray(value) ? value.filter((hint) => typeof hint === 'string') : [];
  } catch {
    return [];
  }
}

/** Hints that the reader has dismissed from the overview. */
export const dismissed = createStore<readonly string[]>(readDismissed());
dismissed.subscribe(() => remember(KEYS.dismissed, JSON.stringify(dismissed.get())));

/** Dismisses a hint from the overview, or shows it there again. */
export function toggleDismissed(hint: string): void {
  const others = dismissed.get().filter((other) => other !== hint);
  const isNew = others.length === dismissed.get().length;
  dismissed.set(isNew ? [hint, ...others].slice(0, MOST_DISMISSED) : others);
}

/** Switches to the next colour scheme. */
export function nextTheme(): void {
  theme.set(THEMES[(THEMES.indexOf(theme.get()) + 1) % THEMES.length] ?? 'auto');
}

/** Switches between local time and UTC. */
export function nextZone(): void {
  zone.set(zone.get() === 'local' ? 'utc' : 'local');
}
