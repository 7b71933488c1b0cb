import { createArrayStore } from '../helpers/array-store.ts';
import { describeSameReads } from './same-reads.ts';

describeSameReads(
  'a history in a small memory and a store, beside one memory that holds everything,',
  (taskDays) => createArrayStore({ taskDays }),
  12,
);
