/**
 * The times for which an instance that receives everything stored what happened. Times in milliseconds, by the clock of
 * the database.
 */
import { isTime } from '../../values.ts';

/** A span of time, both ends included. */
export type Span = readonly [from: number, to: number];

/** Most spans that are remembered. */
const MOST_SPANS = 100;
/** A shorter gap does not divide a span: an instance that takes over has received the messages of that time. */
const HOLE_MS = 1_000;

/** @returns the spans as text */
export function writeSpans(spans: readonly Span[]): string {
  return JSON.stringify(spans.map(([from, to]) => [Math.round(from), Math.round(to)]));
}

/** @returns the readable spans, in order */
export function readSpans(text: string | null): Span[] {
  try {
    const rows: unknown = JSON.parse(text ?? '[]');
    if (!Array.isArray(rows)) return [];
    return rows.flatMap((row: unknown) => {
      const [from, to] = Array.isArray(row) ? (row as unknown[]) : [];
      return isTime(from) && isTime(to) && from <= to ? [[from, to] as const] : [];
    });
  } catch {
    return [];
  }
}

/** @returns the union of the spans, in order */
export function unionOf(spans: readonly Span[]): Span[] {
  const sorted = spans.toSorted(([a], [b]) => a - b);
  const union: [number, number][] = [];
  for (const [from, to] of sorted) {
    const last = union.at(-1);
    if (last !== undefined && from <= last[1] + HOLE_MS) last[1] = Math.max(last[1], to);
    else union.push([from, to]);
  }
  return union.slice(-MOST_SPANS);
}
