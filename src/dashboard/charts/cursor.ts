import { createStore } from '../store.ts';

/** The time that the reader points at in one of the charts, in milliseconds since 1970; `null`: none. */
export const cursor = createStore<number | null>(null);
