import { count } from '../text/numbers.ts';

/** The average per minute over the steps in which it is known; a dash if it is known in none. */
export function rateText(counts: readonly (number | null)[] | undefined, stepSeconds: number): string {
  const known = (counts ?? []).filter((value) => value !== null);
  if (known.length === 0) return '–';
  const perMinute = (known.reduce((sum, value) => sum + value, 0) / known.length / stepSeconds) * 60;
  return perMinute > 0 && perMinute < 10 ? perMinute.toFixed(1) : count(Math.round(perMinute));
}
