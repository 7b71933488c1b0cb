import { describe, expect, it } from 'vitest';
import type { CelerySettings } from '../../src/celery.ts';
import { settingsForChannel } from '../../src/sources/celery/brokers/redis/channel-settings.ts';
import { eventSubscriptions } from '../../src/sources/celery/brokers/redis/channels.ts';

const transport = (options: CelerySettings['broker_transport_options']): CelerySettings =>
  options === undefined ? {} : { broker_transport_options: options };

describe('the settings for a channel that was heard', () => {
  it.each<[string, CelerySettings, number, string | null]>([
    ['/1.celeryev/worker.heartbeat', {}, 1, null],
    [
      'shop:/0.celeryev/task.multi',
      {},
      0,
      "settings: { broker_transport_options: { global_keyprefix: 'shop:' } }",
    ],
    [
      'shop:/1.celeryev/task.multi',
      {},
      1,
      "settings: { broker_transport_options: { global_keyprefix: 'shop:' } }",
    ],
    [
      '/0.celeryev/task.multi',
      transport({ global_keyprefix: 'shop:' }),
      0,
      "settings: { broker_transport_options: { global_keyprefix: '' } }",
    ],
    ['/7.labev/worker.online', {}, 7, "settings: { event_exchange: 'labev' }"],
    [
      '/7.labev',
      { event_exchange: 'labev' },
      7,
      'settings: { broker_transport_options: { fanout_patterns: false } }',
    ],
    [
      '/0.celeryev/task.sent',
      transport({ fanout_patterns: false }),
      0,
      'settings: { broker_transport_options: { fanout_patterns: true } }',
    ],
    ['celeryev/worker.heartbeat', {}, 0, 'settings: { broker_transport_options: { fanout_prefix: false } }'],
    [
      'shop.all-celeryev/worker.heartbeat',
      {},
      0,
      "settings: { broker_transport_options: { global_keyprefix: 'shop.', fanout_prefix: 'all-' } }",
    ],
    [
      'labev/worker.heartbeat',
      {},
      0,
      "settings: { event_exchange: 'labev', broker_transport_options: { fanout_prefix: false } }",
    ],
    [
      '/{db}.celeryev/worker.heartbeat',
      {},
      0,
      "settings: { broker_transport_options: { master_name: '<its name>' } }",
    ],
    [
      "it's\\*\n/0.celeryev/worker.heartbeat",
      {},
      0,
      "settings: { broker_transport_options: { global_keyprefix: 'it\\'s\\\\*\\u000a' } }",
    ],
  ])('%j are told, as far as they differ', (channel, present, database, settings) => {
    expect(settingsForChannel(channel, present, 0, ['shop.'])).toMatchObject({ database, settings });
  });

  it('are none when it is heard already, or too long to be one of Celery', () => {
    expect(settingsForChannel('/0.celeryev/worker.heartbeat', {}, 0, [])).toBeNull();
    expect(settingsForChannel(`${'x'.repeat(400)}/0.celeryev/worker.heartbeat`, {}, 0, [])).toBeNull();
  });

  it('make this source hear whatever any other settings would', () => {
    for (const global_keyprefix of ['', 'shop:', '[a*]', '/1.x'])
      for (const fanout_prefix of [true, false, '/{db}.', 'pre-'])
        for (const fanout_patterns of [true, false])
          for (const event_exchange of ['celeryev', 'labev']) {
            const there = {
              event_exchange,
              broker_transport_options: { global_keyprefix, fanout_prefix, fanout_patterns },
            };
            for (const { kind, name } of eventSubscriptions(there, 5)) {
              const channel =
                kind === 'channel' ? name : name.replace(/\\(.)/g, '$1').replace(/\*$/, 'task.multi');
              const found = settingsForChannel(channel, {}, 0, []);
              const text = found?.settings ?? 'settings: {}';
              const settings = new Function(`return ({ ${text} }).settings`)() as CelerySettings;
              const heard = eventSubscriptions(settings, found?.database ?? 0);
              expect(heard.map((one) => one.name)).toEqual([name]);
            }
          }
  });
});
