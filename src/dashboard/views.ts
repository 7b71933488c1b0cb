/** The table of views: each address, its title and its code, which is loaded when the view is opened. */
import type { ComponentType } from 'preact';
import { OverviewView } from './overview/overview-view.tsx';
import type { Shape } from './parts/problem.tsx';
import type { Route } from './route.ts';

/** The properties of each view. */
export interface ViewProps {
  /** The rest of its path: an id or a name. Empty if there is none. */
  readonly id: string;
  readonly query: URLSearchParams;
}

/** A view. */
export interface View {
  /** Its address: `tasks` is `#/tasks`, and `tasks/` is that of one task, `#/tasks/<id>`. */
  readonly path: string;
  /** Its title until it is loaded and sets its own. */
  readonly title: string;
  /** Its key after `g`. The navigation shows the views with a key, in this order. */
  readonly key?: string;
  /** The path of the entry that the navigation marks as current. Default: its own. */
  readonly under?: string;
  /** How it uses the period: as its window, any time unless the address has a period, or only the current state. */
  readonly period: 'window' | 'any' | 'now';
  /** What it looks like until it is loaded. Default: a table. */
  readonly shape?: Shape;
  /** Whether it can compare its figures with the previous period. Default false. */
  readonly canCompare?: boolean;
  /** Its code. Only that of the overview is loaded with the page. */
  readonly load: () => ComponentType<ViewProps> | Promise<ComponentType<ViewProps>>;
}

/** Every view. To add one, add it here: navigation, keys and addresses follow. */
export const VIEWS: readonly View[] = [
  { path: '', title: 'Overview', key: 'o', period: 'window', canCompare: true, load: () => OverviewView },
  {
    path: 'failures',
    title: 'Failures',
    key: 'f',
    period: 'window',
    shape: 'charts',
    canCompare: true,
    load: async () => (await import('./failures/failures-view.tsx')).FailuresView,
  },
  {
    path: 'failures/',
    title: 'Cause',
    under: 'failures',
    period: 'window',
    shape: 'charts',
    canCompare: true,
    load: async () => (await import('./failures/cause-view.tsx')).CauseView,
  },
  {
    path: 'tasks',
    title: 'Tasks',
    key: 't',
    period: 'any',
    load: async () => (await import('./tasks/tasks-view.tsx')).TasksView,
  },
  {
    path: 'tasks/',
    title: 'Task',
    under: 'tasks',
    period: 'now',
    shape: 'charts',
    load: async () => (await import('./task/task-view.tsx')).TaskView,
  },
  {
    path: 'workflow/',
    title: 'Workflow',
    under: 'tasks',
    period: 'now',
    load: async () => (await import('./workflow/workflow-view.tsx')).WorkflowView,
  },
  {
    path: 'queues',
    title: 'Queues',
    key: 'q',
    period: 'window',
    load: async () => (await import('./queues/queues-view.tsx')).QueuesView,
  },
  {
    path: 'queues/',
    title: 'Queue',
    under: 'queues',
    period: 'window',
    shape: 'charts',
    load: async () => (await import('./queues/queue-view.tsx')).QueueView,
  },
  {
    path: 'names',
    title: 'Names',
    under: 'tasks',
    period: 'window',
    canCompare: true,
    load: async () => (await import('./names/names-view.tsx')).NamesView,
  },
  {
    path: 'names/',
    title: 'Name',
    under: 'tasks',
    period: 'window',
    shape: 'charts',
    canCompare: true,
    load: async () => (await import('./names/name-view.tsx')).NameView,
  },
  {
    path: 'workers',
    title: 'Workers',
    key: 'w',
    period: 'now',
    shape: 'cards',
    load: async () => (await import('./workers/workers-view.tsx')).WorkersView,
  },
  {
    path: 'workers/',
    title: 'Worker',
    under: 'workers',
    period: 'now',
    shape: 'cards',
    load: async () => (await import('./workers/workers-view.tsx')).WorkersView,
  },
  {
    path: 'schedules',
    title: 'Schedules',
    key: 's',
    period: 'now',
    load: async () => (await import('./schedules/schedules-view.tsx')).SchedulesView,
  },
  {
    path: 'system',
    title: 'System',
    period: 'now',
    shape: 'cards',
    load: async () => (await import('./system/system-view.tsx')).SystemView,
  },
];

/** The view at an address; `undefined` if there is none. */
export function viewOf({ path, id }: Route): View | undefined {
  return VIEWS.find((view) => view.path === (id === '' ? path : `${path}/`));
}
