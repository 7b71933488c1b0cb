import type { TaskChange } from '../../../history/history.ts';

/**
 * A change with every field in place, absent ones `undefined`. All changes then have one shape, which
 * keeps the history's hot path fast; every place that makes one names the fields in this order.
 */
export type FullChange = { -readonly [K in keyof Required<TaskChange>]: TaskChange[K] | undefined } & Pick<
  TaskChange,
  'id' | 'type' | 'time' | 'origin'
>;

/** Celery's built-in tasks that run another task over many arguments (celery/app/builtins.py). */
const KINDS: Readonly<Record<string, NonNullable<TaskChange['kind']>>> = {
  'celery.map': 'map',
  'celery.starmap': 'starmap',
  'celery.chunks': 'chunks',
};

/** Of which sort a task of this name is, when it is one of Celery's own. */
export function kindOf(name: string | undefined): TaskChange['kind'] | undefined {
  return name?.startsWith('celery.') === true ? KINDS[name] : undefined;
}
