import { createClient } from 'redis';
import { createClient as createClient5 } from 'redis5';
import { describe, expect, it } from 'vitest';
import { type CelerySettings, type CelerySourcesOptions, celerySources } from '../../src/celery.ts';
import { createArrayStore } from '../helpers/array-store.ts';
import { componentOf } from '../helpers/celery-events.ts';

const broker = 'redis://127.0.0.1:1/3';

describe('the options of celerySources', () => {
  it.each([
    ['node-redis 6', createClient],
    ['node-redis 5', createClient5 as unknown as typeof createClient],
  ])('take a client of %s, and its database unless the settings name another', async (_, create) => {
    const client = create({ url: 'redis://user:SECRET@h:7/4' });
    const rows: [settings: CelerySettings, database: number][] = [
      [{}, 4],
      [{ broker_url: 'redis://inside/9' }, 9],
      [{ broker_url: 'sentinel://:SECRET@a:26379/8;sentinel://b:26379/8' }, 8],
    ];
    for (const [settings, database] of rows) {
      const sources = celerySources({ broker: client, backend: client, settings });
      const { url, config } = await componentOf(sources, 'broker');
      expect([url, config.database]).toEqual([database === 4 ? 'redis://h:7/4' : url, database]);
      expect(url).not.toContain('SECRET');
      await sources.close();
    }
  });

  it.each<[unknown, RegExp]>([
    [undefined, /'options' must be an object such as \{ broker: /],
    ['redis://', /'options' must be an object such as \{ broker: /],
    [{}, /'broker' is missing/],
    [
      { broker: 3 },
      /'broker' must be a URL such as .*, or a connection made by connect\(\) of amqplib, .*; it is 3/,
    ],
    [{ broker: { duplicate: () => {} } }, /package redis, version 5 or 6/],
    [{ broker, brokerUrl: 'x' }, /'brokerUrl' is not an option.*Write broker instead/],
    [{ broker, result_backend: 'x' }, /Write backend instead/],
    [{ broker, event_exchange: 'x' }, /Write settings: \{ event_exchange \} instead/],
    [{ broker, __proto__x: 1 }, /The options are: broker, backend, name, settings, retention/],
    [{ broker, constructor: 1 }, /'constructor' is not an option/],
    [{ broker, name: '' }, /'name' must be 1 to 64 of/],
    [{ broker, name: 'a b' }, /'name' must be 1 to 64 of/],
    [{ broker, store: 'monitor.db' }, /'store' must be sqliteStore\('monitor\.db'\) of .*; it is a string/],
    [{ broker, database: 'x' }, /Write store instead/],
    [
      { broker, store: createArrayStore(), redact: false },
      /Remove redact: false, or write redact: \(text\) => text/,
    ],
    [{ broker, collect: 'leader' }, /'collect' must be true or false; it is a string/],
    [{ broker, collect: false }, /collect: false needs a store that all instances share/],
    [
      { broker, collect: true, store: { ...createArrayStore(), isReadOnly: true } },
      /collect: true needs a store that may be written\. .*write collect: false/,
    ],
    [{ broker, retention: 3 }, /'retention' must be an object/],
    [{ broker, retention: { maxTask: 1 } }, /'retention\.maxTask' is not an option/],
    [{ broker, backend: 'rpc://' }, /'backend' begins with rpc:/],
    [{ broker, settings: 'x' }, /'settings' must be an object with Celery's own names/],
    [{ broker, settings: { event_exchange: 3 } }, /'settings.event_exchange' must be a string/],
    [
      { broker, settings: { event_exchange: '' } },
      /'settings.event_exchange' must be a string that is not empty/,
    ],
    [
      { broker, settings: { broker_transport_options: [] } },
      /'settings.broker_transport_options' must be an object/,
    ],
    [
      { broker, settings: { broker_transport_options: { fanout_patterns: 0 } } },
      /fanout_patterns' must be true or/,
    ],
    [
      { broker, settings: { broker_transport_options: { fanout_prefix: 1 } } },
      /fanout_prefix' must be true, false or/,
    ],
    [{ broker, settings: { broker_transport_options: { priority_steps: ['SECRET'] } } }, /whole numbers/],
    [{ broker, settings: { result_backend_transport_options: { global_keyprefix: 1 } } }, /must be a string/],
    [{ broker, settings: { timezone: 'Moon/Base' } }, /time zone/],
    [{ broker, settings: { beat_schedule: [] } }, /beat_schedule' must be an object/],
  ])('%j are refused with what to write', (options, message) => {
    const create = () => celerySources(options as CelerySourcesOptions);
    expect(create).toThrow(TypeError);
    expect(create).toThrow(message);
    expect(create).not.toThrow(/SECRET/);
  });

  it('take None from pasted settings as not set', async () => {
    const settings = {
      event_exchange: null,
      result_backend: null,
      timezone: null,
      broker_transport_options: null,
    };
    await celerySources({ broker, settings } as unknown as CelerySourcesOptions).close();
  });
});
