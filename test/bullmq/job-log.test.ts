import { describe, expect, it } from 'vitest';
import { bullmqSources } from '../../src/bullmq.ts';
import type { TaskDetail } from '../../src/model.ts';
import { detail } from '../helpers/bullmq-read.ts';
import { redisMissing, titleUnless } from '../helpers/redis-server.ts';
import { useSourceRedis } from './source-redis.ts';

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'the log of a job'), () => {
  const on = useSourceRedis('q');

  async function logOf(lines: readonly string[]): Promise<TaskDetail['log']> {
    await on.redis.del('bull:q:1:logs');
    await on.redis.hset('bull:q:1', { name: 'n', data: '{}', opts: '{}', timestamp: '1800000000000' });
    await on.redis.del('bull:q:wait');
    await on.redis.lpush('bull:q:wait', '1');
    if (lines.length > 0) await on.redis.rpush('bull:q:1:logs', ...lines);
    return (await detail(on.sources, 'q:1'))?.log;
  }

  it('has its last 100 lines, without secrets', async () => {
    const lines = Array.from({ length: 130 }, (_, n) => `line ${n}`);
    expect(await logOf([])).toEqual({ lines: [], total: 0 });
    expect(await logOf(['one', 'password=hunter2'])).toEqual({ lines: ['one', 'password=***'], total: 2 });
    expect(await logOf(lines)).toEqual({ lines: lines.slice(-100), total: 130 });
  });

  it('is searched for secrets once, although the timeline has it, too', async () => {
    await logOf(['one', 'password=hunter2']);
    await on.redis.hset('bull:q:1', { processedOn: '1800000000100', finishedOn: '1800000000200' });
    await on.redis.del('bull:q:wait');
    await on.redis.zadd('bull:q:completed', 1_800_000_000_200, '1');
    const seen: string[] = [];
    const redact = (text: string, field: string): string => {
      if (text.includes('password=')) seen.push(field);
      return text.replace('hunter2', '***');
    };
    const own = bullmqSources({ connection: on.server.url(), redact });
    const task = await detail(own, 'q:1');
    expect(task?.timeline?.find(({ state }) => state === 'STARTED')?.detail).toBe('one\npassword=***');
    expect(seen).toEqual(['log']);
    own.close();
  });

  it('reads no more of long lines than is shown, and none of lines of megabytes', async () => {
    const bytes = async (): Promise<number> =>
      Number(/total_net_output_bytes:(\d+)/.exec(await on.redis.info('stats'))?.[1]);
    const read = async (lines: readonly string[]): Promise<[TaskDetail['log'], number]> => {
      await logOf(lines);
      const before = await bytes();
      const log = (await detail(on.sources, 'q:1'))?.log;
      return [log, (await bytes()) - before];
    };
    const [log, sent] = await read(Array.from({ length: 2_000 }, (_, n) => `${n} ${'x'.repeat(10_240)}`));
    expect(log?.total).toBe(2_000);
    expect(log?.lines.length).toBeGreaterThan(10);
    expect(log?.lines.at(-1)).toMatch(/^1999 x+…$/);
    expect(Math.max(...(log?.lines ?? []).map((line) => line.length))).toBeLessThanOrEqual(4_097);
    expect(sent).toBeLessThan(1_000_000);
    const [large, sentOfLarge] = await read(['x'.repeat(20_000_000), 'y'.repeat(20_000_000)]);
    expect(large).toEqual({ lines: [expect.stringMatching(/^<lines of \d+ bytes each>$/)], total: 2 });
    expect(sentOfLarge).toBeLessThan(100_000);
  }, 60_000);
});
