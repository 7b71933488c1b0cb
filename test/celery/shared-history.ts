/** Histories that several instances share, without a store: one history in memory, one lease, and texts. */
import { createMemoryHistory } from '../../src/history/memory-history.ts';
import type { Hearing, StoredHistory, StoreStatus } from '../../src/history/stored-history.ts';

/** What instances share. */
export interface SharedHistories {
  /** The history of another instance. */
  open(): SharedHistory;
  /** Takes the lease away from whoever holds it, as if it had not been renewed. */
  expire(): void;
  /** Whether the store can be reached. */
  isReachable: boolean;
}

/** A history, and what its source has asked of it. */
export interface SharedHistory extends StoredHistory {
  readonly hearing: () => Hearing;
  /** Whether it does nothing any more, as if its process had been killed. */
  kill(): void;
}

interface State {
  readonly instances: Set<Instance>;
  holder: Instance | null;
  readonly texts: Map<string, string>;
  revision: number;
  readonly shared: SharedHistories;
}

interface Instance {
  isWanted: boolean;
  readonly listeners: Set<(isHolder: boolean) => void>;
}

export function createSharedHistories(): SharedHistories {
  const memory = createMemoryHistory({ maxAgeMs: 100 * 365 * 86_400_000 });
  const shared: SharedHistories = {
    isReachable: true,
    expire: () => give(state, null),
    open: () => openHistory(state, memory),
  };
  const state: State = { instances: new Set(), holder: null, texts: new Map(), revision: 0, shared };
  return shared;
}

function openHistory(state: State, memory: ReturnType<typeof createMemoryHistory>): SharedHistory {
  const instance: Instance = { isWanted: true, listeners: new Set() };
  let hearing: Hearing = 'nothing';
  state.instances.add(instance);
  settle(state);
  return {
    ...memory,
    hearing: () => hearing,
    texts: {
      publish(kind, text) {
        if (state.holder !== instance) return;
        state.texts.set(kind, text);
        state.revision += 1;
      },
      read: (kind) => state.texts.get(kind) ?? null,
      revision: () => state.revision,
    },
    status: () => statusOf(state, instance),
    isHolder: () => state.shared.isReachable && state.holder === instance,
    wantLease(wanted) {
      instance.isWanted = wanted;
      if (!wanted && state.holder === instance) give(state, null);
      else settle(state);
    },
    onLease(listener) {
      instance.listeners.add(listener);
      return () => instance.listeners.delete(listener);
    },
    async setHearing(wanted) {
      hearing = wanted;
    },
    kill() {
      instance.listeners.clear();
      state.instances.delete(instance);
      if (state.holder === instance) give(state, null);
    },
    async close() {
      state.instances.delete(instance);
      if (state.holder === instance) give(state, null);
    },
  };
}

/** Later, as the lease is asked for now and then. */
function settle(state: State): void {
  setTimeout(() => {
    if (state.holder !== null) return;
    const next = [...state.instances].find(({ isWanted }) => isWanted);
    if (next !== undefined) give(state, next);
  }, 50).unref();
}

function give(state: State, next: Instance | null): void {
  const { holder } = state;
  if (holder === next) return;
  state.holder = next;
  for (const listener of holder?.listeners ?? []) listener(false);
  for (const listener of next?.listeners ?? []) listener(true);
  if (next === null) settle(state);
}

function statusOf(state: State, instance: Instance): StoreStatus {
  return {
    engine: 'postgres',
    phase: 'ready',
    isHolder: state.shared.isReachable ? state.holder === instance : null,
    waiting: 0,
    waitingSince: null,
    lastWrite: null,
    error: null,
    code: null,
    lost: 0,
    lostAt: null,
    bytes: null,
  };
}
