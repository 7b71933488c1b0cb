/** The eleven routes, one row each. The router and `openapi.json` are made from this table. */

import type { Route } from '../http/route.ts';
import { components } from './components.ts';
import { events } from './events.ts';
import { healthcheck } from './healthcheck.ts';
import { metricsRoute } from './metrics.ts';
import { schedules } from './schedules.ts';
import { task } from './task.ts';
import { tasks } from './tasks.ts';
import { workers } from './workers.ts';
import { graph, relations, updates } from './workflow.ts';

export const ROUTES: readonly Route[] = [
  healthcheck,
  components,
  tasks,
  task,
  relations,
  graph,
  updates,
  workers,
  events,
  schedules,
  metricsRoute,
];
