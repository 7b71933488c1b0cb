/**
 * When a stored result was written. Celery dates only those of tasks that have ended; of the others the
 * remaining life of the key tells it, since each write sets that anew to `result_expires`
 * (celery/backends/redis.py, SETEX).
 */
import type { CelerySettings } from '../../settings.ts';

/** Celery's own default of `result_expires`, in milliseconds. */
const DEFAULT_LIFE = 24 * 60 * 60_000;
const MOST_SAMPLES = 15;
/** Lives that differ by less are the same: clocks differ, and a result is dated before it is written. */
const SAME = 5_000;

/** All in milliseconds; moments since 1970. */
export interface Dating {
  /** Whether more dated results would help. */
  needsSamples(): boolean;
  /** @param done the date in a result; @param ttl the remaining life of its key; @param now when that was asked */
  sample(done: number, ttl: number, now: number): void;
  /** When a value was written whose key has this life left; `null` when it cannot be told. */
  writtenAt(ttl: number, now: number): number | null;
}

/**
 * The whole life of a key is the setting `result_expires` (seconds) where it is given, else what dated
 * results show, else Celery's default.
 */
export function createDating({ result_expires: expires }: CelerySettings): Dating {
  const given = typeof expires === 'number' && expires > 0 ? expires * 1000 : null;
  const samples: number[] = [];
  let usual: number | null = null;

  return {
    needsSamples: () => given === null && samples.length < MOST_SAMPLES,
    sample(done, ttl, now) {
      if (ttl < 0) return;
      samples.push(ttl + now - done);
      samples.sort((a, b) => a - b);
      const middle = samples[samples.length >> 1] as number;
      const alike = samples.filter((life) => Math.abs(life - middle) < SAME).length;
      // Several apps on one Redis may keep their results for different times.
      usual = alike * 2 > samples.length ? middle : null;
    },
    writtenAt(ttl, now) {
      const fallback = samples.length === 0 ? DEFAULT_LIFE : null;
      const life = given ?? usual ?? fallback;
      return ttl < 0 || life === null || ttl > life + SAME ? null : Math.min(now, now - (life - ttl));
    },
  };
}
