/** When the page moves: the current time, and whether it is live. It is, unless the reader points at rows or has paused it. */
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

/** Rows that stay where they are, although there are changes. */
export interface Hold extends News {
  /** Shows the changes. */
  readonly release: () => void;
}

/** The rows that are held now; `null`: none, or nothing has changed. */
export const held = createStore<Hold | null>(null);

/** Tells the frame what has changed while rows are held. @param release shows it */
export function useHoldReport(news: News | null, release: () => void): void {
  const latest = useRef(release);
  latest.current = release;
  const { count = 0, isPartial = false } = news ?? {};
  useEffect(() => {
    held.set(count === 0 ? null : { count, isPartial, release: () => latest.current() });
  }, [count, isPartial]);
  useEffect(() => () => held.set(null), []);
}

/** The current time, updated once a second while the tab is visible. */
export const clock = createStore(Date.now());

const tick = (): void => {
  if (!document.hidden) clock.set(Date.now());
};
setInterval(tick, 1_000);
document.addEventListener('visibilitychange', tick);
