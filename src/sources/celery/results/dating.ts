/**
 * Finds out when a stored result was written. Celery dates only results of ended tasks. For others it follows
 * from their remaining life, because each write renews it (celery/backends/redis.py, SETEX with
 * `result_expires`).
 */
import type { CelerySettings } from '../settings.ts';

/** Celery's own default of `result_expires`, in milliseconds. */
const DEFAULT_LIFE = 24 * 60 * 60_000;
const MAX_SAMPLES = 15;
/** Lives that differ by less than this count as equal: clocks differ, and a result is dated before it is written. */
const TOLERANCE = 5_000;

/** All in milliseconds; moments since 1970. */
export interface Dating {
  /** Whether more dated results would help. */
  needsSamples(): boolean;
  /** @param done the date in a result; @param left its remaining life; @param now when that was read */
  sample(done: number, left: number, now: number): void;
  /** When a result was written that has this life left; `null` if unknown. */
  writtenAt(left: number, now: number): number | null;
}

/**
 * A result lives for the setting `result_expires` (seconds) where it is given, else for as long as dated
 * results show, else for Celery's default.
 */
export function createDating({ result_expires: expires }: CelerySettings): Dating {
  const configured = typeof expires === 'number' && expires > 0 ? expires * 1000 : null;
  const samples: number[] = [];
  let usual: number | null = null;

  return {
    needsSamples: () => configured === null && samples.length < MAX_SAMPLES,
    sample(done, left, now) {
      if (left < 0) return;
      samples.push(left + now - done);
      samples.sort((a, b) => a - b);
      const median = samples[samples.length >> 1] as number;
      const alike = samples.filter((life) => Math.abs(life - median) < TOLERANCE).length;
      // Several apps may share a backend and keep their results for different times.
      usual = alike * 2 > samples.length ? median : null;
    },
    writtenAt(left, now) {
      const life = configured ?? usual ?? (samples.length === 0 ? DEFAULT_LIFE : null);
      if (left < 0 || life === null || left > life + TOLERANCE) return null;
      return Math.min(now, now - (life - left));
    },
  };
}
