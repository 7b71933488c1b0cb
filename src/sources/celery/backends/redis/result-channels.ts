/** The Redis channels on which results are published (celery/backends/redis.py). */
import { escapeGlob, type Subscription } from '../../../../redis/acl.ts';
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
