import { createStore } from './store.ts';

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
