import { createClient } from 'redis';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { celerySources } from '../../src/celery.ts';
import { LEAST } from '../celery/amqp-lab.ts';
import { bullmqRules, controlRules, readRules } from '../helpers/acl-users.ts';
import { redisMissing, startRedis, titleUnless } from '../helpers/redis-server.ts';
import { codeBlocks } from './code-blocks.ts';

const redis = redisMissing === null ? await startRedis() : null;
afterAll(() => redis?.close());

/** Each line as Redis takes it: what is in quotes is one word. */
const linesOf = (text: string): string[][] =>
  text
    .trim()
    .split('\n')
    .map((line) => [...line.matchAll(/"([^"]*)"|\S+/g)].map(([word, quoted]) => quoted ?? word));
const [read = [], control = []] = codeBlocks('docs/celery-redis.md')
  .filter(({ language }) => language === 'redis')
  .map(({ text }) => linesOf(text));
const [bullmq = []] = codeBlocks('docs/bullmq.md')
  .filter(({ language }) => language === 'redis')
  .map(({ text }) => linesOf(text));
const wordsOf = (lines: readonly string[][]): string[] => lines.flatMap((line) => line.slice(3)).sort();
/** What `reset` says already. */
const RESET = ['resetkeys', 'resetchannels', '-@all'];
const withoutReset = (rules: readonly string[]): string[] => rules.filter((rule) => !RESET.includes(rule));

describe('the Redis users of the documentation', () => {
  it('have the rules that are tested, and no other', () => {
    const first = ['reset', 'on', '>change-me'];
    expect(wordsOf(read)).toEqual([...first, ...withoutReset(readRules())].sort());
    const more = withoutReset(controlRules()).filter((rule) => !readRules().includes(rule));
    expect(wordsOf(control)).toEqual(more.sort());
    expect(wordsOf(bullmq)).toEqual([...first, ...withoutReset(bullmqRules())].sort());
  });
});

// `celery/sql/database-user.test.ts` makes the users of the database by the statements of the page.
describe('the RabbitMQ user of the documentation', () => {
  it('has the permissions that are tested', () => {
    const page = codeBlocks('docs/celery-rabbitmq.md')
      .filter(({ language }) => language === 'sh')
      .map(({ text }) => text)
      .join('\n');
    const patterns = [...page.matchAll(/'(\^[^']*)'/g)].map(([, pattern]) => pattern);
    expect(patterns).toEqual([LEAST.configure, LEAST.write, LEAST.read]);
  });
});

describe.skipIf(redisMissing)(titleUnless(redisMissing, 'the Redis user of the documentation'), () => {
  it('may do all that the Celery source does, and nothing else', async () => {
    const admin = createClient({ url: redis?.url() ?? '' });
    await admin.connect();
    for (const line of read) await admin.sendCommand(line);
    const url = redis?.url().replace('redis://', 'redis://monitor:change-me@') ?? '';
    const sources = celerySources({ broker: url, backend: url });
    const signal = new AbortController().signal;
    try {
      await vi.waitFor(
        async () => expect(await sources.health?.checkBroker?.({ signal })).toMatchObject({ ok: true }),
        10_000,
      );
      expect(await sources.health?.checkBackend?.({ signal })).toMatchObject({ ok: true });
      await vi.waitFor(async () => {
        const event = {
          type: 'task-received',
          uuid: 'a',
          name: 'mail.send',
          hostname: 'celery@a',
          timestamp: 1_795_226_400,
          utcoffset: 0,
          clock: 1,
          pid: 1,
          local_received: 1,
        };
        const body = Buffer.from(JSON.stringify(event)).toString('base64');
        const properties = {
          body_encoding: 'base64',
          delivery_info: { exchange: 'celeryev', routing_key: 'task.received' },
        };
        const message = {
          body,
          'content-encoding': 'utf-8',
          'content-type': 'application/json',
          headers: {},
          properties,
        };
        await admin.publish('/0.celeryev/task.received', JSON.stringify(message));
        expect(await sources.tasks?.getTask('a', { signal })).toMatchObject({
          state: 'RECEIVED',
          name: 'mail.send',
        });
      }, 10_000);

      const other = createClient({ url, RESP: 2, disableClientInfo: true });
      await other.connect();
      for (const command of [
        'SET a 1',
        'KEYS *',
        'PUBLISH a 1',
        'FLUSHALL',
        'CONFIG GET *',
        'LPUSH celery 1',
      ]) {
        await expect(other.sendCommand(command.split(' '))).rejects.toThrow(/NOPERM/);
      }
      other.destroy();
    } finally {
      await sources.close?.();
      admin.destroy();
    }
  });
});
