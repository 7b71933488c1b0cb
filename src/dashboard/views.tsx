/** The table of views: each address, its title and its code, which is loaded when the view is opened. */
import type { ComponentType } from 'preact';
import { OverviewView } from './overview/overview-view.tsx';
import { type Lazy, lazy } from './parts/lazy.tsx';
import { Empty, Loading, type Shape, ViewHead } from './parts/view.tsx';
import type { Route } from './route.ts';

/** The properties of each view. */
interface ViewProps {
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
  /** Whether it can compare its figures with the previous period. Default false. */
  readonly canCompare?: boolean;
  readonly content: Lazy<ViewProps>;
}

type Code = ComponentType<ViewProps>;

/** @param view its code, of which only that of the overview is loaded with the page; and its shape until then */
function viewWith(
  view: Omit<View, 'content'> & { readonly load: () => Code | Promise<Code>; readonly shape?: Shape },
): View {
  const { load, shape, ...rest } = view;
  const content = lazy(load, (error) => (
    <>
      <ViewHead title={view.title} />
      {error === null ? <Loading shape={shape} /> : <Unloaded />}
    </>
  ));
  return { ...rest, content };
}

/** Shown if code cannot be loaded: file names of the page change with each version. */
function Unloaded() {
  return (
    <div role="alert">
      <Empty title="This view could not be loaded. The app may have been updated.">
        <button type="button" onClick={() => location.reload()}>
          Reload the page
        </button>
      </Empty>
    </div>
  );
}

/** Every view. To add one, add it here: navigation, keys and addresses follow. */
export const VIEWS: readonly View[] = [
  viewWith({
    path: '',
    title: 'Overview',
    key: 'o',
    period: 'window',
    canCompare: true,
    load: () => OverviewView,
  }),
  viewWith({
    path: 'failures',
    title: 'Failures',
    key: 'f',
    period: 'window',
    shape: 'charts',
    canCompare: true,
    load: async () => (await import('./failures/failures-view.tsx')).FailuresView,
  }),
  viewWith({
    path: 'failures/',
    title: 'Cause',
    under: 'failures',
    period: 'window',
    shape: 'charts',
    canCompare: true,
    load: async () => (await import('./failures/failures-view.tsx')).CauseView,
  }),
  viewWith({
    path: 'tasks',
    title: 'Tasks',
    key: 't',
    period: 'any',
    load: async () => (await import('./tasks/tasks-view.tsx')).TasksView,
  }),
  viewWith({
    path: 'tasks/',
    title: 'Task',
    under: 'tasks',
    period: 'now',
    shape: 'charts',
    load: async () => (await import('./task/task-view.tsx')).TaskView,
  }),
  viewWith({
    path: 'workflow/',
    title: 'Workflow',
    under: 'tasks',
    period: 'now',
    load: async () => (await import('./workflow/workflow-view.tsx')).WorkflowView,
  }),
  viewWith({
    path: 'queues',
    title: 'Queues',
    key: 'q',
    period: 'window',
    load: async () => (await import('./queues/queues-view.tsx')).QueuesView,
  }),
  viewWith({
    path: 'queues/',
    title: 'Queue',
    under: 'queues',
    period: 'window',
    shape: 'charts',
    load: async () => (await import('./queues/queues-view.tsx')).QueueView,
  }),
  viewWith({
    path: 'names',
    title: 'Names',
    under: 'tasks',
    period: 'window',
    canCompare: true,
    load: async () => (await import('./names/names-view.tsx')).NamesView,
  }),
  viewWith({
    path: 'names/',
    title: 'Name',
    under: 'tasks',
    period: 'window',
    shape: 'charts',
    canCompare: true,
    load: async () => (await import('./names/names-view.tsx')).NameView,
  }),
  viewWith({
    path: 'workers',
    title: 'Workers',
    key: 'w',
    period: 'now',
    shape: 'cards',
    load: async () => (await import('./workers/workers-view.tsx')).WorkersView,
  }),
  viewWith({
    path: 'workers/',
    title: 'Worker',
    under: 'workers',
    period: 'now',
    shape: 'cards',
    load: async () => (await import('./workers/workers-view.tsx')).WorkersView,
  }),
  viewWith({
    path: 'schedules',
    title: 'Schedules',
    key: 's',
    period: 'now',
    load: async () => (await import('./schedules/schedules-view.tsx')).SchedulesView,
  }),
  viewWith({
    path: 'system',
    title: 'System',
    period: 'now',
    shape: 'cards',
    load: async () => (await import('./system/system-view.tsx')).SystemView,
  }),
];

/** The view at an address; `undefined` if there is none. */
export function viewOf({ path, id }: Route): View | undefined {
  return VIEWS.find((view) => view.path === (id === '' ? path : `${path}/`));
}
