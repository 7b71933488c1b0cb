import type { RouteName } from '../options.ts';
import type { Asked } from './route.ts';

/** What one URL asks for, in a form that is the same for all URLs that ask for it. */
export function keyOf(route: RouteName, { taskId, values }: Asked<unknown>): string {
  return JSON.stringify([route, taskId, values]);
}
