import { rangeOf } from '../range/range.ts';
import { currentRoute, linkHere } from '../route.ts';
import { viewOf } from '../views.ts';

/** The address of what is shown now: whoever opens it later sees the same period. */
export function absoluteLink(): string {
  const route = currentRoute.get();
  const { kind, isChosen, since, until } = rangeOf(route.query);
  const period = viewOf(route)?.period ?? 'now';
  const isMoving = kind !== 'fixed' && (period === 'window' || (period === 'any' && isChosen));
  const link = isMoving
    ? linkHere({ range: null, from: since.toISOString(), to: until.toISOString() })
    : linkHere({});
  return new URL(link, location.href).href;
}
