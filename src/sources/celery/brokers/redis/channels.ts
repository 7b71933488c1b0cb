/** The Redis channels on which a Celery deployment publishes events (kombu/transport/redis.py). */
import { escapeGlob, type Subscription } from '../../../../redis/problems.ts';
import type { CelerySettings } from '../../settings.ts';

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
