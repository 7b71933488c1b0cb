import { createStore } from './store.ts';

/** Links to the rows of the list that was open last, in its order: `[` and `]` go from one to the next. */
export const listed = createStore<readonly string[]>([]);
