import { expect, it } from 'vitest';
import { type CelerySettings, celerySources } from '../../src/celery.ts';
import type { CeleryTransportOptions } from '../../src/sources/celery/settings.ts';
import { componentOf } from '../helpers/celery-events.ts';

/** The names to which a deployment in database 7 listens, patterns as Redis takes them. */
async function channelsOf(settings: CelerySettings, backend?: string): Promise<unknown> {
  const sources = celerySources({
    broker: 'redis://127.0.0.1:1/7',
    ...(backend ? { backend } : {}),
    settings,
  });
  try {
    return (await componentOf(sources, 'collector')).config.channels;
  } finally {
    await sources.close();
  }
}

const EVENTS: readonly (readonly [CeleryTransportOptions, string[]])[] = [
  [{}, ['/7.celeryev/*']],
  [{ global_keyprefix: 'shop:' }, ['shop:/7.celeryev/*']],
  [{ global_keyprefix: '{x}:', fanout_prefix: true }, ['{x}:/7.celeryev/*']],
  // A text within a pattern matches itself alone.
  [{ global_keyprefix: 'a[1]*?\\' }, ['a\\[1\\]\\*\\?\\\\/7.celeryev/*']],
  [{ fanout_prefix: false }, ['celeryev/*']],
  [{ fanout_prefix: '' }, ['celeryev/*']],
  [{ fanout_prefix: 'mon.' }, ['mon.celeryev/*']],
  [{ fanout_prefix: 'mon-{db}-' }, ['mon-7-celeryev/*']],
  // One channel, which is no pattern.
  [{ fanout_patterns: false }, ['/7.celeryev']],
  [{ fanout_patterns: false, global_keyprefix: 'a*' }, ['a*/7.celeryev']],
  [{ master_name: 'mymaster' }, ['/7.celeryev/*', '/{db}.celeryev/*']],
  [{ master_name: 'mymaster', fanout_prefix: false }, ['celeryev/*']],
];

it('events are heard where the transport options say', async () => {
  const found = EVENTS.map(async ([options]) => [
    options,
    await channelsOf({ broker_transport_options: options }),
  ]);
  expect(await Promise.all(found)).toEqual(EVENTS);
});

it('events are heard at the exchange of the settings', async () => {
  const settings = { event_exchange: 'labev', event_queue_prefix: 'ignored' };
  expect(await channelsOf(settings)).toEqual(['/7.labev/*']);
});

/** Prefixes of the result backend, and how the channels of results begin. */
const RESULTS: readonly (readonly [string | undefined, string])[] = [
  [undefined, ''],
  ['acme_res', 'acme_res_'],
  ['acme:', 'acme:'],
  ['acme-', 'acme-'],
  ['acme.', 'acme.'],
  ['acme_', 'acme_'],
  ['{x}', '{x}_'],
  ['a*', 'a\\*_'],
];

it('results are heard under the prefix of the result backend, not under that of the broker', async () => {
  const found = RESULTS.map(([prefix]) => {
    const settings = {
      broker_transport_options: { global_keyprefix: 'shop:' },
      result_backend_transport_options: prefix === undefined ? {} : { global_keyprefix: prefix },
    };
    return channelsOf(settings, 'redis://127.0.0.1:1/8');
  });
  expect(await Promise.all(found)).toEqual(
    RESULTS.map(([, start]) => [
      'shop:/7.celeryev/*',
      `${start}celery-task-meta-*`,
      `${start}celery-taskset-meta-*`,
    ]),
  );
});
