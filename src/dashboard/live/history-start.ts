import type { MarkerBody } from '../../wire.ts';
import { createStore } from '../store.ts';
import { client } from './connection.ts';

/** How far back the data reaches. */
export interface HistoryStart {
  /** In milliseconds since 1970; `null` if unknown. */
  readonly at: number | null;
  /** Whether a store keeps counts for longer than tasks. */
  readonly isKept: boolean;
  /** Newest first. */
  readonly markers: readonly MarkerBody[];
}

/** How far back the history reached when the reader last chose a period. */
export const historyStart = createStore<HistoryStart>({ at: null, isKept: false, markers: [] });

const STALE_MS = 30_000;
let askedAt = 0;

/** Requests again how far back the history reaches, unless this was done a moment ago. */
export async function loadHistoryStart(): Promise<void> {
  if (Date.now() - askedAt < STALE_MS) return;
  askedAt = Date.now();
  try {
    historyStart.set(await read());
  } catch {
    // The previous value is still the best guess.
    askedAt = 0;
  }
}

async function read(): Promise<HistoryStart> {
  const [components, { stats }] = await Promise.all([
    client.components(),
    client.tasks({ limit: 0, stats: 1 }),
  ]);
  const since = components.history?.config?.since;
  const starts = [since, stats?.counted_since].flatMap((text) =>
    typeof text === 'string' ? [Date.parse(text)] : [],
  );
  return {
    at: starts.length === 0 ? null : Math.min(...starts),
    isKept: stats?.computed_from !== undefined,
    markers: (stats?.markers ?? []).toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at)),
  };
}
