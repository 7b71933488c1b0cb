import { createStore } from './store.ts';

/** Whether the list of shortcuts is open. Rows then ignore keys. */
export const helpOpen = createStore(false);
