/** How far back rollups reach. */
import type { RollupStore } from '../../rollup-store.ts';

const DAY_MS = 86_400_000;

/** Since when there are counts; `null`: there are none. Rejects with what the store throws. */
export async function countedSince(store: RollupStore, now: number, days: number): Promise<Date | null> {
  const all = { level: 0, names: [], queues: [], workers: [] } as const;
  const from = now - (days + 1) * DAY_MS;
  for (const span of [86_400, 3_600, 60] as const) {
    const [cell] = await store.read({ ...all, span, from, to: now }, 1);
    if (cell !== undefined) return new Date(cell.start);
  }
  return null;
}
