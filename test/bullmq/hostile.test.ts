import { describe, expect, it } from 'vitest';
import { context, detail, page, queryOf, tree } from '../helpers/bullmq-read.ts';
import { redisMissing, titleUnless } from '../helpers/redis-server.ts';
import { useSourceRedis } from './source-redis.ts';

const TIME = 1_790_000_000_000;

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'jobs that hold anything'), () => {
  const on = useSourceRedis('q');

  async function completed(id: string, fields: Readonly<Record<string, string | Buffer>>): Promise<void> {
    await on.redis.hset(`bull:q:${id}`, {
      name: 'a',
      timestamp: String(TIME),
      finishedOn: String(TIME),
      atm: '1',
      ...fields,
    });
    await on.redis.zadd('bull:q:completed', TIME, id);
  }

  it('of many megabytes are cut in the list and on their own page, and told to be', async () => {
    await completed('1', {
      data: `{"text":"${'ü'.repeat(2_500_000)}"}`,
      returnvalue: JSON.stringify('r'.repeat(3_000_000)),
    });
    const [row] = (await page(on.sources)).tasks;
    expect(row?.args).toMatch(/^\{"text":"ü+$/);
    expect(String(row?.args).length).toBe(4_096);
    expect(row?.truncated).toEqual(['args', 'result']);
    const own = await detail(on.sources, 'q:1');
    expect(String(own?.args).length).toBe(262_144);
    expect(own?.truncated).toEqual(['args', 'result']);
    expect((await tree(on.sources, 'q:1'))?.tasks[0]?.truncated).toEqual(['args', 'result']);
  });

  it('with a megabyte of stack traces show the last one', async () => {
    const last = `Error: "no"\n    at f (C:\\app.js:1:2)`;
    const lists: Readonly<Record<string, readonly [traces: readonly string[], shown: string | null]>> = {
      many: [[...Array.from({ length: 100_000 }, () => 'Error: x'), last], last],
      long: [['Error: x', `${last}${'\n    at "g"'.repeat(60_000)}`], null],
    };
    for (const [id, [traces]] of Object.entries(lists)) {
      const stacktrace = JSON.stringify(traces);
      const times = { timestamp: String(TIME), finishedOn: String(TIME), atm: '3', failedReason: '"no"' };
      await on.redis.hset(`bull:q:${id}`, { name: 'a', ...times, stacktrace });
      await on.redis.zadd('bull:q:failed', TIME, id);
    }
    for (const [id, [, shown]] of Object.entries(lists)) {
      const own = await detail(on.sources, `q:${id}`);
      if (shown !== null) expect(own).toMatchObject({ traceback: shown, truncated: [] });
      else expect(own).toMatchObject({ truncated: ['traceback'] });
      expect(own?.traceback).toContain(last);
      expect(own?.timeline?.filter(({ state }) => state === 'RETRY').map(({ detail }) => detail)).toEqual([
        null,
        null,
      ]);
    }
  });

  it('that are too large to be read are told by their size', async () => {
    await completed('1', { data: 'x'.repeat(20_000_000) });
    for (const task of [(await page(on.sources)).tasks[0], await detail(on.sources, 'q:1')]) {
      expect(task).toMatchObject({ args: '<20000000 bytes>', truncated: ['args'] });
    }
    for (let id = 2; id < 12; id += 1) await completed(String(id), { data: 'y'.repeat(5_000_000) });
    const { tasks } = await page(on.sources);
    expect(tasks.filter(({ args }) => args === '<5000000 bytes>').length).toBeGreaterThan(2);
    expect(tasks.filter(({ args }) => String(args).startsWith('yyy')).length).toBeGreaterThan(5);
    expect(tasks.length).toBe(11);
  });

  it('that are no JSON, or look like anything else, are shown as they are', async () => {
    const values = [
      '',
      '{',
      '"',
      '[[[[',
      'undefined',
      '{"a":{"$ref":"#"}}',
      '{"__proto__":{"polluted":1}}',
      'null',
      '"\\ud800"',
      `${'['.repeat(5_000)}`,
    ];
    for (const [index, value] of values.entries())
      await completed(String(index), { data: value, returnvalue: value });
    await completed('binary', {
      data: Buffer.from([0, 255, 254, 128, 10, 65]),
      returnvalue: Buffer.from([34, 255, 34]),
    });
    const { tasks } = await page(on.sources);
    expect(tasks.length).toBe(values.length + 1);
    for (const [index, value] of values.entries()) {
      const row = tasks.find(({ id }) => id === `q:${index}`);
      expect(row?.args ?? '').toBe(value.slice(0, 4_096));
    }
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    for (const { id } of tasks) expect((await detail(on.sources, id))?.id).toBe(id);
  });

  it('with fields of any other shape keep what can be read', async () => {
    const fields = [
      'timestamp',
      'processedOn',
      'finishedOn',
      'delay',
      'atm',
      'attemptsMade',
      'parentKey',
      'pb',
      'stacktrace',
      'failedReason',
      'name',
    ];
    const values = [
      '',
      'x',
      'NaN',
      '-1',
      '1e400',
      '9e99',
      '{}',
      '[1,{}]',
      '\u0000',
      ':',
      'a:b',
      '::::',
      'bull:q:',
    ];
    let id = 0;
    for (const field of fields) {
      for (const value of values) {
        id += 1;
        for (const [part, score] of [
          ['completed', TIME],
          ['failed', TIME],
          ['delayed', TIME * 4_096],
        ] as const) {
          const own = `${part}-${id}`;
          await on.redis.hset(`bull:q:${own}`, { name: 'a', timestamp: TIME, [field]: value });
          await on.redis.zadd(`bull:q:${part}`, score, own);
        }
        await on.redis.hset(`bull:q:wait-${id}`, { name: 'a', timestamp: TIME, [field]: value });
        await on.redis.lpush('bull:q:wait', `wait-${id}`);
      }
    }
    for (const sort of ['timestamp', 'started', 'runtime', 'name'] as const) {
      const { tasks, next } = await page(on.sources, { limit: 1_000, sort });
      expect([sort, tasks.length, next]).toEqual([sort, 4 * id, null]);
    }
    for (const own of ['completed-1', 'failed-99', 'delayed-44', 'wait-80']) {
      expect((await detail(on.sources, `q:${own}`))?.id).toBe(`q:${own}`);
      expect((await tree(on.sources, `q:${own}`))?.tasks[0]?.id).toBe(`q:${own}`);
    }
    await on.sources.tasks.getTaskStats?.(
      { minutes: 60, now: new Date(TIME + 60_000), filter: queryOf() },
      context,
    );
  });

  it('with scores that are no time, or sets that hold no jobs, are passed over', async () => {
    await completed('1', {});
    await on.redis.zadd('bull:q:completed', '+inf', 'inf', '-inf', '-inf', 1e300, 'far', -5, 'past');
    await on.redis.hset('bull:q:past', { name: 'a', timestamp: -5, finishedOn: -5 });
    for (const id of ['inf', '-inf', 'far'])
      await on.redis.hset(`bull:q:${id}`, { name: 'a', timestamp: TIME });
    await on.redis.lpush('bull:q:wait', 'gone', '0:1', '0', '', 'constructor', '__proto__');
    await on.redis.zadd('bull:q:failed', TIME, 'gone');
    const { tasks } = await page(on.sources);
    expect(tasks.map(({ id }) => id)).toEqual(['q:1', 'q:past']);
    await on.redis.set('bull:q:delayed', 'text');
    await on.redis.set('bull:q:active', 'text');
    await on.redis.hset('bull:q:paused', 'a', 'b');
    await on.redis.set('bull:q:2', 'no hash');
    await on.redis.lpush('bull:q:wait', '2');
    expect((await page(on.sources)).tasks.length).toBe(2);
    expect(await detail(on.sources, 'q:2')).toBeNull();
    expect((await detail(on.sources, 'q:1'))?.state).toBe('SUCCESS');
  });

  it('and children of any number are cut, and told to be', async () => {
    await completed('1', {});
    const children = Array.from({ length: 25_000 }, (_, n) => `bull:q:c${n}`);
    for (let from = 0; from < children.length; from += 5_000) {
      await on.redis.sadd('bull:q:1:dependencies', ...children.slice(from, from + 5_000));
    }
    await on.redis.hset('bull:q:1:processed', 'no key', 'x'.repeat(1_000_000), 'bull:q:1', '{}');
    const found = await tree(on.sources, 'q:1');
    expect(found?.truncated).toBe(true);
    expect(found?.tasks.map(({ id }) => id)).toEqual(['q:1']);
    expect(found?.relations?.length).toBeLessThanOrEqual(20_000);
    expect((await detail(on.sources, 'q:1'))?.children?.length).toBeGreaterThan(19_000);
  });

  it('and logs of any length are cut', async () => {
    await completed('1', { processedOn: String(TIME - 5) });
    await on.redis.rpush('bull:q:1:logs', ...Array.from({ length: 3_000 }, (_, n) => `line ${n}`));
    const log = (await detail(on.sources, 'q:1'))?.timeline?.find(({ state }) => state === 'STARTED')?.detail;
    expect(log?.split('\n').length).toBe(100);
    expect(log).toMatch(/line 2999$/);
    await on.redis.rpush('bull:q:1:logs', 'x'.repeat(3_000_000));
    const long = (await detail(on.sources, 'q:1'))?.timeline?.find(
      ({ state }) => state === 'STARTED',
    )?.detail;
    const lines = long?.split('\n') ?? [];
    expect(lines.at(-1)?.length).toBe(4_097);
    expect(lines.slice(0, -1).every((line) => /^line \d+$/.test(line))).toBe(true);
  });
});
