/** Collects the tasks that the feed reports as changed, so that a list can request only these. */
import { useEffect, useRef } from 'preact/hooks';
import { onNews } from '../live/feed.ts';
import { millis } from '../text/moments.ts';

/** The changes since the last request of the list. */
export interface Changes {
  /** Time of the oldest change, in milliseconds since 1970; `null`: there is none. */
  readonly since: number | null;
  /** Whether some changes are unknown. */
  readonly isPartial: boolean;
}

const NONE: Changes = { since: null, isPartial: false };

/** The changes so far. `take` resets them to {@link NONE}. */
export function useChanges(): { take(): Changes; lose(): void } {
  const changes = useRef<Changes>(NONE);
  useEffect(
    () =>
      onNews(({ events, isPartial }) => {
        const before = changes.current;
        const times = events
          .filter(({ task_id }) => task_id !== null)
          .map(({ timestamp }) => millis(timestamp));
        const known = times.filter((time) => time !== null);
        const since = Math.min(before.since ?? Number.POSITIVE_INFINITY, ...known);
        changes.current = {
          since: Number.isFinite(since) ? since : null,
          isPartial: before.isPartial || isPartial || known.length < times.length,
        };
      }),
    [],
  );
  return {
    take() {
      const taken = changes.current;
      changes.current = NONE;
      return taken;
    },
    /** Marks the changes that were taken as unknown, because the request for them failed. */
    lose() {
      changes.current = { ...changes.current, isPartial: true };
    },
  };
}
