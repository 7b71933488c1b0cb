import { createClient } from 'redis';
import { createClient as createClient5 } from 'redis5';
import { describe, expect, it } from 'vitest';
import type { CelerySourcesOptions } from '../../src/celery.ts';
import { createArrayStore } from '../helpers/array-store.ts';
import { resolveOptions } from '../helpers/celery-options.ts';

const broker = 'redis://127.0.0.1:1/3';

describe('the options of celerySources', () => {
  it('default to what Celery defaults to', () => {
    const resolved = resolveOptions({ broker });
    expect(resolved).toMatchObject({ name: 'celery', settings: {}, backend: null, foreignBackend: null });
    expect(resolved.broker).toMatchObject({ database: 3, url: 'redis://127.0.0.1:1/3' });
  });

  it('take broker and backend from pasted settings', () => {
    const settings = {
      broker_url: [broker, 'redis://b'],
      result_backend: 'redis://r/2',
      task_queues: ['any'],
    };
    const resolved = resolveOptions({ settings });
    expect([resolved.broker?.database, resolved.backend?.database]).toEqual([3, 2]);
    expect(resolveOptions({ settings, backend: null }).backend).toBeNull();
    expect(resolveOptions({ settings, broker: 'redis://x/5' }).broker?.database).toBe(5);
  });

  it('do not read a result backend of the settings that is not Redis', () => {
    const of = (result_backend: string): unknown => {
      const { backend, foreignBackend } = resolveOptions({ broker, settings: { result_backend } });
      return [backend, foreignBackend];
    };
    expect(of('db+postgresql://user:SECRET@h/d')).toEqual([null, 'db+postgresql']);
    expect(of('rpc://')).toEqual([null, 'rpc']);
    expect(of('django-db')).toEqual([null, 'django-db']);
    expect(of('disabled')).toEqual([null, null]);
  });

  it.each([
    ['node-redis 6', createClient],
    ['node-redis 5', createClient5 as unknown as typeof createClient],
  ])('take a client of %s', (_, create) => {
    const client = create({ url: 'redis://user:SECRET@h:7/4' });
    const options: CelerySourcesOptions = { broker: client, backend: client };
    const resolved = resolveOptions(options);
    expect(resolved.broker).toMatchObject({ database: 4, url: 'redis://h:7/4', server: client });
    expect(resolved.backend?.server).toBe(resolved.broker?.server);
    const elsewhere = resolveOptions({ broker: client, settings: { broker_url: 'redis://inside/9' } });
    expect(elsewhere.broker?.database).toBe(9);
    const sentinels = { broker_url: 'sentinel://:SECRET@a:26379/8;sentinel://b:26379/8' };
    expect(resolveOptions({ broker: client, settings: sentinels }).broker?.database).toBe(8);
  });

  it('collect everywhere and keep nothing, unless told otherwise', () => {
    const store = createArrayStore();
    expect(resolveOptions({ broker })).toMatchObject({ store: null, collect: 'every' });
    expect(resolveOptions({ broker, store })).toMatchObject({ store, collect: 'every' });
    for (const collect of ['leader', false] as const) {
      expect(resolveOptions({ broker, store, collect })).toMatchObject({ store, collect });
    }
  });

  it.each<[unknown, RegExp]>([
    [undefined, /'options' must be an object such as \{ broker: /],
    ['redis://', /'options' must be an object such as \{ broker: /],
    [{}, /'broker' is missing/],
    [{ broker: 3 }, /'broker' must be a URL such as/],
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
    [{ broker, collect: true }, /'collect' must be 'every', 'leader' or false; it is a boolean/],
    [{ broker, collect: 'leader' }, /collect: 'leader' needs a store .* Write store: postgresStore\(pool\)/],
    [{ broker, collect: false }, /collect: false needs a store that all instances share/],
    [
      { broker, collect: 'leader', store: { ...createArrayStore(), isReadOnly: true } },
      /collect: 'leader' needs a store that may be written\. .*write collect: false/,
    ],
    [{ broker, retention: 3 }, /'retention' must be an object/],
    [{ broker, retention: { maxTask: 1 } }, /'retention\.maxTask' is not an option/],
    [{ broker, backend: 'rpc://' }, /'backend' begins with rpc:/],
    [{ broker: 'amqp://u:SECRET@h' }, /begins with amqp:/],
    [{ settings: { broker_url: 'amqp://u:SECRET@h' } }, /'settings.broker_url' begins with amqp:/],
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
    expect(() => resolveOptions(options)).toThrow(TypeError);
    expect(() => resolveOptions(options)).toThrow(message);
    expect(() => resolveOptions(options)).not.toThrow(/SECRET/);
  });

  it('take None from pasted settings as not set', () => {
    const settings = {
      event_exchange: null,
      result_backend: null,
      timezone: null,
      broker_transport_options: null,
    };
    expect(() => resolveOptions({ broker, settings })).not.toThrow();
  });
});
