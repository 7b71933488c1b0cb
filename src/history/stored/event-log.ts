/** A log that a source writes itself, instead of the feed of its history. */
import { MonitorError } from '../../errors.ts';
import type { FeedStore } from '../store.ts';
import type { EventLog } from '../stored-history.ts';
import type { StoredState } from './stored-state.ts';

/** Longest wait for a read, in milliseconds. */
const READ_MS = 2_000;

export function createEventLog(state: StoredState): EventLog {
  const { calls, instance } = state;
  const feed = async (): Promise<FeedStore> => {
    if (state.session === null)
      throw new MonitorError('source_unavailable', 'The history store is not open yet.');
    return state.session.feed;
  };
  return {
    async append(text, count) {
      const store = await feed();
      await calls.ask('write', () => store.append(instance, text, count));
    },
    async newest() {
      const store = await feed();
      const [newest] = (await calls.ask('read', () => store.newest(1), READ_MS)).slice(-1);
      return newest ?? null;
    },
    async read(after, most) {
      const store = await feed();
      return calls.ask('read', () => store.read(after, most), READ_MS);
    },
  };
}
