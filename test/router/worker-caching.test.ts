import { afterEach, describe, expect, it, vi } from 'vitest';
import type { WorkersBody } from '../../src/wire.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { serve } from './host-kit.ts';
import { createShop, START } from './shop-sources.ts';

afterEach(() => {
  vi.useRealTimers();
});

function setClock(seconds: number): void {
  vi.useFakeTimers({ toFake: ['Date'], now: START + seconds * 1_000 });
}

describe('a client that knows the workers', () => {
  it('gets a new answer when a worker was restarted, and a 304 while only its uptime grows', async () => {
    const shop = createShop();
    const { get } = await serve(EXPRESS, { sources: shop.sources });
    const upFor = async (uptimeSeconds: number) => {
      shop.workers = shop.workers.map((worker) => ({ ...worker, uptimeSeconds }));
      return get<WorkersBody>('/api/workers/');
    };
    setClock(70);
    const one = await upFor(60);
    setClock(75);
    const two = await upFor(65);
    setClock(80);
    const anew = await upFor(4);
    setClock(85);
    const later = await upFor(9);
    expect([one, two, anew, later].map(({ body }) => body.workers[0]?.uptime_seconds)).toEqual([
      60, 65, 4, 9,
    ]);
    expect(two.headers.etag).toBe(one.headers.etag);
    expect(anew.headers.etag).not.toBe(one.headers.etag);
    expect(later.headers.etag).toBe(anew.headers.etag);
  });
});
