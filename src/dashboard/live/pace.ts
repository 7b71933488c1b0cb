/** Whether what is shown follows what happens: it does unless the reader reads, or has paused it. */
import { useEffect, useRef } from 'preact/hooks';
import { createStore } from '../store.ts';

/** Whether the reader has paused the page. It then loads only what somebody opens. */
export const isPaused = createStore(false);

/** What came while rows are held. */
export interface News {
  readonly count: number;
  /** Whether more came than was counted. */
  readonly isPartial: boolean;
}

/** Rows that stay where they are. */
export interface Hold extends News {
  /** Shows what came. */
  readonly release: () => void;
}

/** All rows that are held now; `null`: none are. */
export const held = createStore<Hold | null>(null);

const holds = new Map<symbol, Hold>();

function update(): void {
  const all = [...holds.values()];
  const most = all.toSorted((a, b) => b.count - a.count)[0];
  const release = (): void => {
    for (const hold of all) hold.release();
  };
  held.set(most === undefined ? null : { ...most, release });
}

/** Tells the frame that rows are held, so that it says so. @param release shows what came meanwhile */
export function useHoldReport(isHeld: boolean, release: () => void, news: News | null = null): void {
  const latest = useRef(release);
  latest.current = release;
  const [count, isPartial] = [news?.count ?? 0, news?.isPartial === true];
  useEffect(() => {
    if (!isHeld) return undefined;
    const key = Symbol('hold');
    holds.set(key, { count, isPartial, release: () => latest.current() });
    update();
    return () => {
      holds.delete(key);
      update();
    };
  }, [isHeld, count, isPartial]);
}
