import { useRef } from 'preact/hooks';

/**
 * The rows in the order to show. While they are held, each row stays where it was and shows its latest data, and new
 * rows are added at the end.
 *
 * @param keyOf identifies a row
 */
export function useHeldRows<Row>(
  rows: readonly Row[],
  keyOf: (row: Row) => string,
  isHeld: boolean,
): readonly Row[] {
  const before = useRef(rows);
  // An empty list is never held: the user may have lost the right to see the rows.
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

/** The rows in their own order, each with its latest data. */
export function inPlace<Row>(
  rows: readonly Row[],
  latest: readonly Row[],
  keyOf: (row: Row) => string,
): readonly Row[] {
  const known = new Map(latest.map((row) => [keyOf(row), row]));
  return rows.map((row) => known.get(keyOf(row)) ?? row);
}

/** The value. While it is held, the last value before that. */
export function useHeldValue<T>(value: T, isHeld: boolean): T {
  const before = useRef(value);
  if (!isHeld) before.current = value;
  return before.current;
}
