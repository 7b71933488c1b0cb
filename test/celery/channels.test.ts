import { describe, expect, it } from 'vitest';
import { escapeGlob } from '../../src/redis/acl.ts';
import { resultSubscription } from '../../src/sources/celery/backends/redis/result-channels.ts';
import { eventSubscriptions } from '../../src/sources/celery/brokers/redis/channels.ts';
import type { CeleryTransportOptions } from '../../src/sources/celery/settings.ts';

describe('the channels of events', () => {
  it.each<[CeleryTransportOptions, string[]]>([
    [{}, ['pattern /7.celeryev/*']],
    [{ global_keyprefix: 'shop:' }, ['pattern shop:/7.celeryev/*']],
    [{ global_keyprefix: '{x}:', fanout_prefix: true }, ['pattern {x}:/7.celeryev/*']],
    [{ global_keyprefix: 'a[1]*?\\' }, ['pattern a\\[1\\]\\*\\?\\\\/7.celeryev/*']],
    [{ fanout_prefix: false }, ['pattern celeryev/*']],
    [{ fanout_prefix: '' }, ['pattern celeryev/*']],
    [{ fanout_prefix: 'mon.' }, ['pattern mon.celeryev/*']],
    [{ fanout_prefix: 'mon-{db}-' }, ['pattern mon-7-celeryev/*']],
    [{ fanout_patterns: false }, ['channel /7.celeryev']],
    [{ fanout_patterns: false, global_keyprefix: 'a*' }, ['channel a*/7.celeryev']],
    [{ master_name: 'mymaster' }, ['pattern /7.celeryev/*', 'pattern /{db}.celeryev/*']],
    [{ master_name: 'mymaster', fanout_prefix: false }, ['pattern celeryev/*']],
  ])('with the transport options %j are %j', (options, channels) => {
    const found = eventSubscriptions({ broker_transport_options: options }, 7);
    expect(found.map(({ kind, name }) => `${kind} ${name}`)).toEqual(channels);
  });

  it('have the name of the exchange', () => {
    const settings = { event_exchange: 'labev', event_queue_prefix: 'ignored' };
    expect(eventSubscriptions(settings, 0)).toEqual([{ kind: 'pattern', name: '/0.labev/*' }]);
  });
});

describe('the channels of results', () => {
  it.each([
    [undefined, 'celery-task-meta-', 'celery-task-meta-*'],
    ['acme_res', 'acme_res_celery-task-meta-', 'acme_res_celery-task-meta-*'],
    ['acme:', 'acme:celery-task-meta-', 'acme:celery-task-meta-*'],
    ['acme-', 'acme-celery-task-meta-', 'acme-celery-task-meta-*'],
    ['acme.', 'acme.celery-task-meta-', 'acme.celery-task-meta-*'],
    ['acme_', 'acme_celery-task-meta-', 'acme_celery-task-meta-*'],
    ['{x}', '{x}_celery-task-meta-', '{x}_celery-task-meta-*'],
    ['a*', 'a*_celery-task-meta-', 'a\\*_celery-task-meta-*'],
  ])('with the prefix %j begin with %j', (prefix, start, name) => {
    const settings =
      prefix === undefined ? {} : { result_backend_transport_options: { global_keyprefix: prefix } };
    expect(resultSubscription(settings)).toEqual({ kind: 'pattern', name, prefix: start });
  });

  it('do not have the prefix of the broker', () => {
    const settings = { broker_transport_options: { global_keyprefix: 'shop:' } };
    expect(resultSubscription(settings).name).toBe('celery-task-meta-*');
  });
});

it('a text as a pattern matches itself alone', () => {
  expect(escapeGlob('a*b?c[d]e\\f^-{g}')).toBe('a\\*b\\?c\\[d\\]e\\\\f^-{g}');
});
