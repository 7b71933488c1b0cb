import { escapeGlob } from '../../../../redis/acl.ts';
/** Names of the keys of stored results (celery/backends/base.py, `task_keyprefix`, `group_keyprefix`). */
import { isId } from '../../protocol/ids.ts';
import type { CelerySettings } from '../../settings.ts';
import { groupSubscription, resultSubscription } from './result-channels.ts';

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
