/** Which Redis channels a Celery deployment publishes on (kombu/transport/redis.py, celery/backends/redis.py). */
import type { CelerySettings } from '../../settings.ts';

/** One subscription: PSUBSCRIBE for a pattern, SUBSCRIBE for a channel. */
export interface Subscription {
  readonly kind: 'pattern' | 'channel';
  /** As it is sent to Redis; the ACL of a read-only user must name it literally. */
  readonly name: string;
}

/**
 * Where events are published: `<global_keyprefix><fanout_prefix><event_exchange>/<routing key>`, or
 * without the routing key where `fanout_patterns` is off.
 *
 * @param database number of the broker's database; it is only a text in the name, since Redis publishes
 *   to all databases
 */
export function eventSubscriptions(settings: CelerySettings, database: number): Subscription[] {
  const options = settings.broker_transport_options ?? {};
  const exchange = settings.event_exchange ?? 'celeryev';
  return fanoutPrefixes(settings, database).map((prefix) => {
    const name = `${options.global_keyprefix ?? ''}${prefix}${exchange}`;
    return options.fanout_patterns === false
      ? { kind: 'channel', name }
      : { kind: 'pattern', name: `${escapeGlob(name)}/*` };
  });
}

function fanoutPrefixes(settings: CelerySettings, database: number): string[] {
  const options = settings.broker_transport_options ?? {};
  const wanted = options.fanout_prefix ?? true;
  if (wanted === false || wanted === '') return [''];
  const template = wanted === true ? '/{db}.' : wanted;
  const prefix = template.replaceAll('{db}', String(database));
  // Behind Sentinel, kombu before 5.4 never filled in the number.
  return isSentinel(settings) && template !== prefix ? [prefix, template] : [prefix];
}

function isSentinel(settings: CelerySettings): boolean {
  return typeof settings.broker_transport_options?.master_name === 'string';
}

/** Where results are published, and what stands before the task's id in each channel's name. */
export function resultSubscription(settings: CelerySettings): Subscription & { readonly prefix: string } {
  let keyPrefix = settings.result_backend_transport_options?.global_keyprefix ?? '';
  // celery/backends/base.py adds this only to a prefix that does not end in a separator.
  if (keyPrefix !== '' && !/[:_.-]$/.test(keyPrefix)) keyPrefix += '_';
  const prefix = `${keyPrefix}celery-task-meta-`;
  return { kind: 'pattern', name: `${escapeGlob(prefix)}*`, prefix };
}

/** Where groups and the sizes of chords are published, and what stands before the group's id. */
export function groupSubscription(settings: CelerySettings): Subscription & { readonly prefix: string } {
  const prefix = resultSubscription(settings).prefix.replace(/task-meta-$/, 'taskset-meta-');
  return { kind: 'pattern', name: `${escapeGlob(prefix)}*`, prefix };
}

/** The text as a Redis pattern that matches it alone. */
export function escapeGlob(text: string): string {
  return text.replace(/[\\*?[\]]/g, '\\$&');
}
