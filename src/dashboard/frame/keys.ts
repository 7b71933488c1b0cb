import { helpOpen, listed, nextTheme, nextZone, say } from '../page-state.ts';
import { copyText } from '../parts/inline.tsx';
import { currentRoute, go, goBack, linkTo } from '../route.ts';
import { VIEWS, viewOf } from '../views.tsx';
import { toggleLive } from './live-button.tsx';
import { toggleCompare } from './range-controls.tsx';
import { focusSearch } from './search-box.tsx';
import { absoluteLink } from './shell.tsx';

/** Keyboard shortcuts of all views. They do not apply while the reader is typing. */

const ACTIONS: Readonly<Record<string, () => void>> = {
  '/': find,
  '?': () => helpOpen.set(true),
  '[': () => step(-1),
  ']': () => step(1),
  c: toggleCompare,
  l: toggleLive,
  y: () => void copyLink(),
  d: nextTheme,
  u: nextZone,
  j: () => moveFocus(1),
  k: () => moveFocus(-1),
  Escape: leave,
};

/** Focuses the search of the view, if it has one of its own. */
function find(): void {
  const own = document.querySelector<HTMLInputElement>('main [role="search"] input');
  if (own === null) focusSearch();
  own?.focus();
  own?.select();
}

let wentAt = 0;

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches('input, select, textarea, [contenteditable]');
}

function onKey(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const { key, target } = event;
  if (isTyping(target)) {
    if (key === 'Escape') (target as HTMLElement).blur();
    return;
  }
  // Panels handle Esc themselves, and rows of a scrolling list have their own keys.
  const isOpen = (selector: string): boolean => document.querySelector(selector) !== null;
  if (isOpen('dialog[open]') || (key === 'Escape' && isOpen(':popover-open'))) return;
  if ((key === 'j' || key === 'k') && isOpen('main .scroller, main [role="treegrid"]')) return;
  const isSecond = Date.now() - wentAt < 1_500;
  wentAt = key === 'g' ? Date.now() : 0;
  const view = isSecond ? VIEWS.find((candidate) => candidate.key === key) : undefined;
  if (view !== undefined) go(linkTo(view.path));
  else if (Object.hasOwn(ACTIONS, key)) ACTIONS[key]?.();
  else return;
  event.preventDefault();
}

async function copyLink(): Promise<void> {
  say((await copyText(absoluteLink())) ? 'Link copied' : 'This browser does not allow copying');
}

/** Goes back from the page of one task, cause, queue or name. */
function leave(): void {
  const under = viewOf(currentRoute.get())?.under;
  if (under !== undefined) goBack(linkTo(under));
}

const pathOf = (link: string): string => link.split('?', 1)[0] ?? '';

/** Opens the next or previous row of the list that was open last. */
function step(by: number): void {
  const links = listed.get();
  const index = links.findIndex((link) => pathOf(link) === pathOf(location.hash));
  const link = index < 0 ? undefined : links[index + by];
  if (link !== undefined) go(link, true);
}

const ROWS = 'main tbody tr, main [data-row]';
const TARGETS = 'a[href], button, summary';

/** Moves the focus to the link of the next row. */
function moveFocus(by: number): void {
  const targets = [...document.querySelectorAll(ROWS)].flatMap(
    (row) => row.querySelector<HTMLElement>(TARGETS) ?? [],
  );
  const row = document.activeElement?.closest(ROWS);
  const index = targets.findIndex((target) => row?.contains(target));
  targets[Math.max(0, index < 0 ? 0 : index + by)]?.focus();
}

/** Starts to handle the shortcuts. Call it once. */
export function listenToKeys(): void {
  document.addEventListener('keydown', onKey);
}
