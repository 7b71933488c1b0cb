/** Whether the page is live: it is, unless the reader points at rows or has paused it. */
import { useEffect, useRef } from 'preact/hooks';
import { createStore } from '../store.ts';

/** Whether the reader has paused the page. It then loads only views that the reader opens. */
export const isPaused = createStore(false);

/** Changes that arrived while rows are held. */
export interface News {
  readonly count: number;
  /** Whether more arrived than was counted. */
  readonly isPartial: boolean;
}

/** Rows that stay where they are. */
export interface Hold extends News {
  /** Shows the changes. */
  readonly release: () => void;
}

/** All rows that are held now; `null`: none. */
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

/** Tells the frame that rows are held, so that it shows this. @param release shows the changes that arrived */
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
