/** Remembers when each cause was first seen, also when the tasks are no longer known. */
import type { CausesBefore } from './cause-groups.ts';

/** Most causes that are remembered. */
const MOST = 10_000;
/** Bytes of one, roughly. */
const BYTES_EACH = 120;

/** When causes were first seen. Times in milliseconds since 1970. */
export interface FirstSeen extends Pick<CausesBefore, 'firstSeen'> {
  /** Before this, what was seen has been forgotten; `-Infinity`: nothing has. */
  readonly forgottenUntil: number;
  /** Estimate of the memory. */
  bytes(): number;
  /** A task failed then. */
  note(id: string, time: number): void;
  clear(): void;
}

/** @returns nothing seen yet */
export function createFirstSeen(): FirstSeen {
  const times = new Map<string, number>();
  const seen: FirstSeen & { forgottenUntil: number } = {
    forgottenUntil: Number.NEGATIVE_INFINITY,
    bytes: () => times.size * BYTES_EACH,
    firstSeen: (id) => times.get(id) ?? null,
    note(id, time) {
      const known = times.get(id);
      if (known === undefined && times.size >= MOST) forgetOldest();
      if (known === undefined || time < known) times.set(id, time);
    },
    clear() {
      times.clear();
      seen.forgottenUntil = Number.NEGATIVE_INFINITY;
    },
  };
  return seen;

  /** The one that was entered first: invented causes do not displace others for long. */
  function forgetOldest(): void {
    const [oldest] = times;
    if (oldest === undefined) return;
    const [id, time] = oldest;
    times.delete(id);
    seen.forgottenUntil = Math.max(seen.forgottenUntil, time);
  }
}
