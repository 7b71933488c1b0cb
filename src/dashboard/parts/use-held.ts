import { useRef } from 'preact/hooks';

/**
 * The rows, or while they are held the rows in the order that they had: what is known anew of them is filled in, and
 * new ones are last.
 *
 * @param keyOf identifies a row
 */
export function useHeldRows<Row>(
  rows: readonly Row[],
  keyOf: (row: Row) => string,
  isHeld: boolean,
): readonly Row[] {
  const before = useRef(rows);
  // What may no longer be seen is not held.
  if (!isHeld || rows.length === 0) before.current = rows;
  else {
    const known = new Set(before.current.map(keyOf));
    before.current = [
      ...inPlace(before.current, rows, keyOf),
      ...rows.filter((row) => !known.has(keyOf(row))),
    ];
  }
  return before.current;
}

/** Rows that stay where they are; what is known anew of them is filled in. */
export function inPlace<Row>(
  rows: readonly Row[],
  latest: readonly Row[],
  keyOf: (row: Row) => string,
): readonly Row[] {
  const known = new Map(latest.map((row) => [keyOf(row), row]));
  return rows.map((row) => known.get(keyOf(row)) ?? row);
}

/** The value, or while it is held the one that was there before. */
export function useHeldValue<T>(value: T, isHeld: boolean): T {
  const before = useRef(value);
  if (!isHeld) before.current = value;
  return before.current;
}
