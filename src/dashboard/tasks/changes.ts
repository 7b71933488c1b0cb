/** Notes what the feed reports of tasks, so that a list can ask for only that. */
import { useEffect, useRef } from 'preact/hooks';
import { onNews } from '../live/feed.ts';
import { millis } from '../text/moments.ts';

/** What has changed since the list was last asked for. */
export interface Changes {
  /** Time of the oldest change, in milliseconds since 1970; `null`: nothing has changed. */
  readonly since: number | null;
  /** Whether some changes are not known. */
  readonly isPartial: boolean;
}

const NONE: Changes = { since: null, isPartial: false };

/** The changes so far. Whoever asks for them sets it to {@link NONE}. */
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
    /** Marks the changes that were taken as unknown: the request for them failed. */
    lose() {
      changes.current = { ...changes.current, isPartial: true };
    },
  };
}
