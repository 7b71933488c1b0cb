import { expect } from 'vitest';
import type { TasksBody } from '../../src/wire.ts';
import { redisMissing, until } from '../helpers/redis-server.ts';
import { faultCase } from './kit/fault-case.ts';
import { REDIS_SOURCES, serveSpoilt, untilCurrent } from './kit/redis-sources.ts';
import type { LinkFault } from './kit/tcp-proxy.ts';

const GARBAGE = Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n<html>\0\xff', 'latin1');

const LINKS: readonly (readonly [title: string, fault: LinkFault])[] = [
  ['is slow by 200 ms', { delayMs: 200 }],
  ['is slow by 2 s', { delayMs: 2_000 }],
  ['carries a byte a second', { bytesPerSecond: 1 }],
  ['is half open', { halfOpen: true }],
  ['resets new connections', { refuse: true }],
  ['is reset after 7 bytes', { cutAfter: 7, end: 'reset' }],
  ['is ended after 100 bytes', { cutAfter: 100, end: 'fin' }],
  ['answers with garbage', { garbage: GARBAGE }],
  ['is flooded with garbage', { flood: GARBAGE }],
];

for (const [title, fault] of LINKS) {
  faultCase(
    22,
    `the link to Redis ${title}`,
    async (bench) => {
      const links = await Promise.all(
        REDIS_SOURCES.map((source) => serveSpoilt(bench, source, { timeoutMs: 1_000 })),
      );
      for (const { proxy } of links) proxy.set(fault);
      await Promise.all(
        links.map(async ({ host, proxy }) => {
          let opened = 0;
          // First on the connections there are, then on new ones.
          for (const limit of [401, 402]) {
            const { status, body } = await bench.expectAnswer<TasksBody>(host, `/api/tasks/?limit=${limit}`, {
              status: [200, 503, 504],
              aimMs: 1_100,
            });
            if (status === 200) expect(body.tasks.length).toBeGreaterThan(0);
            opened = proxy.opened();
            proxy.reset();
          }
          // The source comes back to the spoilt link.
          await until(async () => {
            await bench.expectAnswer(host, '/healthcheck', { status: [200, 503], aimMs: 1_100 });
            return proxy.opened() > opened;
          });
        }),
      );
      for (const { proxy } of links) {
        proxy.set({});
        proxy.reset();
      }
      const times = await Promise.all(links.map(({ host }) => untilCurrent(host)));
      bench.figure('current again after, ms', times.map(Math.round).join(' and '));
    },
    { missing: redisMissing, timeout: 120_000 },
  );
}
