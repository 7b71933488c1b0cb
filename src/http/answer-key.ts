import type { RouteName } from '../options.ts';
import type { Asked } from './route.ts';

/** The cache key of a request: the same for all URLs with the same meaning. */
export function keyOf(route: RouteName, { taskId, values }: Asked<unknown>): string {
  return JSON.stringify([route, taskId, values]);
}
