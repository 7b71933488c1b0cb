/** Records when each cause was first seen, even if its tasks are no longer known. */
import type { CausesBefore } from './cause-groups.ts';

/** Maximum number of recorded causes. */
const MOST = 10_000;
/** Approximate memory of one, in bytes. */
const BYTES_EACH = 120;

/** When causes were first seen. Times in milliseconds since 1970. */
export interface FirstSeen extends Pick<CausesBefore, 'firstSeen'> {
  /** Causes seen before this time may have been forgotten; `-Infinity`: none has. */
  readonly forgottenUntil: number;
  /** Estimated memory. */
  bytes(): number;
  /** Records the failure of a task at this time. */
  note(id: string, time: number): void;
  clear(): void;
}

/** @returns an empty record */
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

  /** The cause that was added first: invented causes do not displace others for long. */
  function forgetOldest(): void {
    const [oldest] = times;
    if (oldest === undefined) return;
    const [id, time] = oldest;
    times.delete(id);
    seen.forgottenUntil = Math.max(seen.forgottenUntil, time);
  }
}
