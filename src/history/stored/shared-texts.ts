/** Texts by kind that instances share: one publishes them, the others keep a copy that is read again when it changes. */
import { MonitorError } from '../../errors.ts';
import type { SharedNotes } from '../../source/shared-notes.ts';
import type { FeedStore, SnapshotStore, StoreSession } from '../store.ts';
import type { EventLog } from '../stored-history.ts';
import type { StoreCalls } from './store-calls.ts';
import { isHolder, type StoredState } from './stored-state.ts';

/** The texts known to this instance. */
export interface TextCopies {
  /** Replaces a text. It is shown at once, and written with the next {@link TextCopies.write}. */
  publish(kind: string, text: string): void;
  /** `null`: not published. */
  read(kind: string): string | null;
  /** Grows with each change that {@link TextCopies.read} shows. */
  revision(): number;
  /** Writes the texts that were published since the last time. */
  write(store: SnapshotStore): Promise<void>;
  /** Reads the texts that others have written since the last time. @returns their kinds */
  refresh(store: SnapshotStore): Promise<ReadonlySet<string>>;
}

/** @returns no texts */
export function createTextCopies(calls: StoreCalls): TextCopies {
  const texts = new Map<string, string>();
  const unwritten = new Map<string, string>();
  const known = new Map<string, number>();
  let revision = 0;

  function set(kind: string, text: string): boolean {
    if (texts.get(kind) === text) return false;
    texts.set(kind, text);
    revision++;
    return true;
  }

  return {
    publish(kind, text) {
      if (set(kind, text)) unwritten.set(kind, text);
    },
    read: (kind) => texts.get(kind) ?? null,
    revision: () => revision,
    async write(store) {
      if (unwritten.size === 0) return;
      const written = new Map(unwritten);
      await calls.ask('write', () => store.write(written));
      for (const [kind, text] of written) if (unwritten.get(kind) === text) unwritten.delete(kind);
    },
    async refresh(store) {
      const revisions = await calls.ask('copy', () => store.revisions());
      const changed = [...revisions].filter(
        ([kind, number]) => known.get(kind) !== number && !unwritten.has(kind),
      );
      if (changed.length === 0) return NONE;
      const read = await calls.ask('copy', () => store.read(changed.map(([kind]) => kind)));
      for (const [kind, text] of read) set(kind, text);
      for (const [kind, number] of changed) known.set(kind, number);
      return new Set(read.keys());
    },
  };
}

const NONE: ReadonlySet<string> = new Set();

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
