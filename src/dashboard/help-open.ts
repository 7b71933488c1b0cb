import { createStore } from './store.ts';

/** Whether the list of shortcuts is open. Rows leave their keys to it. */
export const helpOpen = createStore(false);
