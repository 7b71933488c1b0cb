/** Celery's stamps: small plain data that a host puts on its tasks. */
const MOST_CHARACTERS = 4_096;

/** Stamps as they are kept. */
export interface Stamps {
  readonly value: unknown;
  /** Estimate in bytes. */
  readonly size: number;
  /** Whether the secrets were removed. */
  readonly isRedacted?: boolean;
}

/** @returns a copy; `null` if they are too large, not plain data, or absent */
export function keepStamps(given: unknown): Stamps | null {
  if (given === undefined || given === null) return null;
  let left = MOST_CHARACTERS;
  const weigh = (key: string, value: unknown): unknown => {
    left -= key.length + (typeof value === 'string' ? value.length : 8);
    if (left < 0) throw new RangeError('too large');
    return typeof value === 'bigint' ? '' : value;
  };
  try {
    if (JSON.stringify(given, weigh) === undefined) return null;
    return { value: structuredClone(given), size: 2 * (MOST_CHARACTERS - left) };
  } catch {
    return null;
  }
}
