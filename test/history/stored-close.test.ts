import { describe, expect, it } from 'vitest';
import { createStoredHistory } from '../../src/history/stored/create-stored-history.ts';
import type { Hearing, StoredHistory } from '../../src/history/stored-history.ts';
import { type ArrayStore, createArrayStore } from '../helpers/array-store.ts';

function openHistory(store: ArrayStore, hearing: Hearing): StoredHistory {
  const options = { store, source: 'jobs', deployment: null, hearing, isReadOnly: false };
  return createStoredHistory({}, options);
}

describe('a stored history that is closed at once', () => {
  it.each(['all', 'part'] as const)('writes what it heard first, if it hears %s', async (hearing) => {
    const store = createArrayStore();
    const history = openHistory(store, hearing);
    history.writer.recordTask({ id: 'a', type: 'sent', origin: 'event', time: Date.now() });
    await history.close();
    expect([...store.rows('jobs').tasks.values()].map(({ id }) => id)).toEqual(['a']);
    expect(store.openSessions).toBe(0);
    expect(store.rows('jobs').lease).toBeNull();
  });

  it('closes all the same if the store cannot be opened', async () => {
    const store = createArrayStore();
    store.before = () => {
      throw new Error('down');
    };
    const history = openHistory(store, 'part');
    history.writer.recordTask({ id: 'a', type: 'sent', origin: 'event', time: Date.now() });
    await history.close();
    expect(history.reader.isClosed()).toBe(true);
    expect(store.calls).toEqual(['open']);
  });
});
