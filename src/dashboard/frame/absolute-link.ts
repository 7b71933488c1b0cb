import { rangeOf } from '../range/range.ts';
import { currentRoute, linkHere } from '../route.ts';
import { viewOf } from '../views.ts';

/** The address of the current view, with fixed times: it will show the same period later. */
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
