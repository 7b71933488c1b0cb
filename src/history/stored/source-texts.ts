/** What routers and sources keep in the store themselves: notes, and a log instead of the feed. */
import { MonitorError } from '../../errors.ts';
import type { SharedNotes } from '../../source/shared-notes.ts';
import type { FeedStore, StoreSession } from '../store.ts';
import type { EventLog } from '../stored-history.ts';
import { isHolder, type StoredState } from './stored-state.ts';

/** Kinds of these texts end with a number. */
const KIND = 'router.notes.';
/** Longest wait for the store, in milliseconds. */
const DEADLINE_MS = 3_000;

/** @returns opens notes: the first that are open in each process are the same, and so are the second ones */
export function createNotes(state: StoredState): () => SharedNotes {
  const taken = new Set<number>();

  async function ask<Result>(work: (session: StoreSession) => Promise<Result>): Promise<Result> {
    const { session, calls } = state;
    if (session === null) throw new Error('The store is not open.');
    return calls.ask('copy', () => work(session), DEADLINE_MS);
  }

  return function openNotes() {
    let number = 0;
    while (taken.has(number)) number += 1;
    taken.add(number);
    const kind = `${KIND}${number}`;
    return {
      isHolder: () => (isHolder(state) ? true : state.lease.isKnown && state.lease.isTaken ? false : null),
      read: async () => (await ask(({ snapshots }) => snapshots.read([kind]))).get(kind) ?? null,
      write: (text) => ask(({ snapshots }) => snapshots.write(new Map([[kind, text]]))),
      close: () => void taken.delete(number),
    };
  };
}

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
