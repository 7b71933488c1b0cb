/** A moment as the API writes it: ISO 8601, UTC, milliseconds. `null` for anything but a valid `Date`. */
export function isoTime(value: unknown): string | null {
  return value instanceof Date && !Number.isNaN(value.getTime()) ? value.toISOString() : null;
}
