/** What routers keep in the store themselves: notes. */
import type { SharedNotes } from '../../source/shared-notes.ts';
import type { StoreSession } from '../store.ts';
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
