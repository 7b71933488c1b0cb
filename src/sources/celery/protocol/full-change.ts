import type { TaskChange } from '../../../history/history.ts';

/**
 * A change with all fields but `isLogged`, `undefined` where a message has none. All changes name the fields in the same
 * order, so that V8 gives them one shape, which keeps the history fast.
 */
export type FullChange = {
  -readonly [K in Exclude<keyof TaskChange, 'isLogged'>]-?: TaskChange[K] | undefined;
} & Pick<TaskChange, 'id' | 'type' | 'time' | 'origin'>;

/** Celery's built-in tasks that run another task over many arguments (celery/app/builtins.py). */
const KINDS: Readonly<Record<string, NonNullable<TaskChange['kind']>>> = {
  'celery.map': 'map',
  'celery.starmap': 'starmap',
  'celery.chunks': 'chunks',
};

/** The kind of a task, if its name is that of one of Celery's own tasks. */
export function kindOf(name: string | undefined): TaskChange['kind'] | undefined {
  return name?.startsWith('celery.') === true ? KINDS[name] : undefined;
}
