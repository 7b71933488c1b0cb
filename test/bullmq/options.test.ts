import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { describe, expect, it } from 'vitest';
import { type BullMQSourcesOptions, bullmqSources } from '../../src/bullmq.ts';

const queue = { name: 'mail', qualifiedName: 'bull:mail', client: Promise.resolve() };

function refusal(options: unknown): string {
  try {
    bullmqSources(options as BullMQSourcesOptions);
  } catch (error) {
    expect(error).toBeInstanceOf(TypeError);
    return (error as Error).message;
  }
  return 'accepted';
}

describe('bullmqSources({ … })', () => {
  it.each([
    [undefined, /'options' must be an object such as \{ queues/],
    [[], /'options' must be an object such as \{ queues/],
    [{}, /give either 'queues' or 'connection'/],
    [{ queues: [queue], connection: 'redis://a' }, /give either 'queues' or 'connection'/],
    [{ queues: [] }, /'queues' must be an array of one or more queues .*; it is an empty array/],
    [{ queues: queue }, /'queues' must be an array/],
    [{ queues: ['mail'] }, /'queues\[0\]' must be a queue made by new Queue\(\)/],
    [{ queues: [queue, null] }, /'queues\[1\]' must be a queue/],
    [{ queues: [{ ...queue, name: 'other' }] }, /'queues\[0\]' must be a queue/],
    [
      { queues: [queue, { ...queue, qualifiedName: 'other:mail' }] },
      /two queues are called "mail".*separate source/,
    ],
    [{ queues: [queue], prefix: 'bull' }, /remove 'prefix'/],
    [{ connection: '' }, /'connection' must be a URL/],
    [{ connection: 'amqp://user:secret@host' }, /'connection' must be a URL/],
    [{ connection: 'redis://user:secret@:bad:port' }, /'connection' must be a URL/],
    [{ connection: 'postgres://user:secret@host/jobs' }, /'connection' is on PostgreSQL.*write a source/],
    [{ connection: 'postgresql://host/jobs' }, /'connection' is on PostgreSQL/],
    [{ connection: { connectionString: 'postgres://host' } }, /'connection' is on PostgreSQL/],
    [{ connection: { host: 'localhost', user: 'app' } }, /'connection' is on PostgreSQL/],
    [{ connection: 5 }, /'connection' must be a URL/],
    [{ connection: [] }, /'connection' must be a URL/],
    [{ connection: new Date() }, /'connection' must be a URL/],
    [{ connection: 'redis://a', prefix: '' }, /'prefix' must be/],
    [{ connection: 'redis://a', name: 'my jobs' }, /'name' must be 1 to 64/],
    [{ connection: 'redis://a', collect: 'leader' }, /'collect' must be true or false; it is a string/],
    [{ connection: 'redis://a', collect: false }, /collect: false needs a store that all instances share/],
    [{ url: 'redis://a' }, /'url' is not an option. Write connection instead/],
    [{ connection: 'redis://a', colour: 1 }, /The options are: queues, connection, prefix, name/],
  ])('refuses %j and says what to write', (options, message) => {
    expect(refusal(options)).toMatch(message);
  });

  it('never repeats a password', () => {
    for (const connection of [
      'postgres://user:secret@host',
      'amqp://user:secret@host',
      'redis://user:secret@:bad:port',
    ]) {
      expect(refusal({ connection })).not.toContain('secret');
    }
  });

  it('takes queues, URLs, options of ioredis and clients, and connects to nothing before it is asked', () => {
    const client = new Redis({ lazyConnect: true });
    for (const options of [
      { queues: [queue] },
      { connection: 'redis://user:secret@localhost:1/0' },
      { connection: 'rediss://localhost:1' },
      { connection: { host: 'localhost', port: 1 } },
      { connection: client, prefix: '{bull}' },
      { connection: createClient() },
    ]) {
      expect(refusal(options)).toBe('accepted');
    }
    expect(client.status).toBe('wait');
  });
});
