/** Names of the keys of stored results, and of the channels on which they are published (celery/backends/base.py, redis.py). */
import { escapeGlob, type Subscription } from '../../../../redis/acl.ts';
import { isId } from '../../protocol/ids.ts';
import type { CelerySettings } from '../../settings.ts';

/** Where results are published. `prefix` precedes the task's id in each channel's name. */
export function resultSubscription(settings: CelerySettings): Subscription & { readonly prefix: string } {
  let keyPrefix = settings.result_backend_transport_options?.global_keyprefix ?? '';
  // celery/backends/base.py adds this only to a prefix that does not end in a separator.
  if (keyPrefix !== '' && !/[:_.-]$/.test(keyPrefix)) keyPrefix += '_';
  const prefix = `${keyPrefix}celery-task-meta-`;
  return { kind: 'pattern', name: `${escapeGlob(prefix)}*`, prefix };
}

/** Where groups and the sizes of chords are published. `prefix` precedes the group's id. */
export function groupSubscription(settings: CelerySettings): Subscription & { readonly prefix: string } {
  const prefix = resultSubscription(settings).prefix.replace(/task-meta-$/, 'taskset-meta-');
  return { kind: 'pattern', name: `${escapeGlob(prefix)}*`, prefix };
}

/** Names of the keys of one backend. */
export interface ResultKeys {
  /** A pattern for SCAN that matches the keys of tasks and groups, and hardly any other. */
  readonly pattern: string;
  /** The key of a task's result. */
  task(id: string): string;
  /** The task whose result has this key; `null` when it is another key. */
  taskOf(key: string): string | null;
  /** Whether this is the key of a stored group. */
  isGroup(key: string): boolean;
}

/** @param settings for the prefix of the backend's keys */
export function resultKeys(settings: CelerySettings): ResultKeys {
  const { prefix } = resultSubscription(settings);
  const { prefix: groupPrefix } = groupSubscription(settings);
  const shared = prefix.slice(0, -'-meta-'.length);
  return {
    // Redis compares a pattern with a single star at its end twice as fast; other keys are rare.
    pattern: `${escapeGlob(shared)}*`,
    task: (id) => prefix + id,
    taskOf(key) {
      const id = key.startsWith(prefix) ? key.slice(prefix.length) : '';
      return isId(id) ? id : null;
    },
    // A running chord counts its parts in keys of the same name that end in `.j`, `.s` and `.t`.
    isGroup: (key) => key.startsWith(groupPrefix) && !/\.[jst]$/.test(key),
  };
}
