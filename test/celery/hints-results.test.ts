import { describe, expect, it, onTestFinished } from 'vitest';
import { type CelerySourcesOptions, celerySources } from '../../src/celery.ts';
import { componentOf } from '../helpers/celery-events.ts';
import { metaOf } from './array-deployment.ts';
import { deployment, times } from './hints-deployment.ts';

const EXTENDED = 'result_extended = True';

describe('a hint about what is stored', () => {
  it('says that results are not extended, more loudly where no events tell the names', async () => {
    const { broker, event, result, pass, hints, named } = deployment();
    event('started');
    times(2, () => result());
    // Failures of a broken chain never have a name.
    result({ status: 'FAILURE' });
    expect(await named()).toEqual([]);
    result();
    expect(await hints('backend')).toEqual([
      expect.stringMatching(/After a restart of this monitor, .*Set result_extended = True\.$/),
    ]);
    broker.reconnect();
    await pass(11);
    expect(await hints('backend')).toContainEqual(
      expect.stringMatching(/for some tasks nothing else has them\. Set result_extended = True\.$/),
    );
    result({ name: 'shop.pay' });
    expect(await named()).toEqual([]);
  });

  it('says so of results that were stored before, until a newer one has a name', async () => {
    const { stored, event, result, pass, named } = deployment();
    times(3, (at) => stored.push({ id: `old-${at}`, text: metaOf(`old-${at}`), isCut: false }));
    event('started');
    await pass(5);
    expect(await named()).toEqual([EXTENDED]);
    result({ name: 'shop.pay' });
    expect(await named()).toEqual([]);
  });

  it('says that no result comes though tasks succeed', async () => {
    const { event, result, pass, hints, named } = deployment();
    times(5, () => event('succeeded'));
    expect(await named()).toEqual([]);
    await pass(11);
    expect(await hints('backend')).toEqual([
      expect.stringMatching(/^Tasks succeed, but no result has arrived\..*task_ignore_result = False/),
    ]);
    result({ name: 'shop.pay' });
    expect(await named()).toEqual([]);
  });

  it.each<[string, Partial<CelerySourcesOptions>, RegExp]>([
    ['without a backend', {}, /^No result backend is read, .*Write backend: 'redis:\/\/…\/1', and set/],
    [
      'with a backend in another database',
      { settings: { result_backend: 'db+sqlite:///SECRET' } },
      /^Results in db\+sqlite are not read\..*Write sql: \{ dialect: 'postgres', query \}/,
    ],
    [
      'with a backend of Django',
      { settings: { result_backend: 'django-db' } },
      /^Results in django-db are not read\..*Write sql: \{ dialect/,
    ],
    [
      'with a backend that is messages',
      { settings: { result_backend: 'rpc://' } },
      /cannot be read: they are messages that only the client that sent the task receives/,
    ],
    [
      'with a backend in a cache',
      { settings: { result_backend: 'cache+memcached://h' } },
      /^Results in cache\+memcached cannot be read\..*result_backend = 'redis:/,
    ],
  ])('says what a deployment %s costs, and what to write', async (_, options, sentence) => {
    // Nothing listens there, and nothing needs to.
    const sources = celerySources({ broker: 'redis://127.0.0.1:1/0', ...options });
    onTestFinished(() => sources.close());
    const { hints } = (await componentOf(sources, 'backend')).config;
    expect(hints).toEqual([expect.stringMatching(sentence)]);
    expect(String(hints)).not.toContain('SECRET');
  });

  it('says that results are no JSON, until they are again, or for ten minutes', async () => {
    const { publish, result, pass, named } = deployment();
    const garbled = (...texts: readonly string[]): void => {
      for (const [at, text] of texts.entries()) publish(`g-${at}`, text);
    };
    garbled('', '{"status": ', '3');
    expect(await named()).toEqual([]);
    garbled(...Array(3).fill('\ufffd\u0004\ufffd'));
    expect(await named()).toEqual(["result_serializer = 'json'"]);
    times(20, () => result({ name: 'shop.pay', status: 'FAILURE' }));
    expect(await named()).toEqual([]);
    garbled(...Array(3).fill('children: []'));
    expect(await named()).toEqual(["result_serializer = 'json'"]);
    await pass(601);
    expect(await named()).toEqual([]);
  });
});
