import type { Request, Response } from 'express';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { MonitorError } from '../../src/errors.ts';
import type { AnswerEntry } from '../../src/http/answer-entry.ts';
import type { Denial } from '../../src/http/authorize.ts';
import type { StreamSpec } from '../../src/http/stream-channel.ts';
import { createStreams } from '../../src/http/streams.ts';
import { askStream } from '../helpers/ask-stream.ts';
import { listen } from '../helpers/hosts.ts';
import { until } from '../router/host-kit.ts';

const TIMES = { gather: 5, comment: 20, allowed: 40, life: 600_000 };

/** A place counts up with every change. */
function counter() {
  let place = 0;
  let reads = 0;
  const spec: StreamSpec<number> = {
    route: 'events',
    part: {
      name: 'counter',
      status: () => ({ ok: true, asOf: new Date(), revision: place }),
    },
    key: 'counter',
    since: null,
    readSince: Number,
    read(since): AnswerEntry {
      reads += 1;
      const body = Buffer.from(JSON.stringify({ since, place }));
      const stands = {
        cursor: String(place),
        hasChanges: since === null || since < place,
        gap: false,
        isFull: false,
      };
      return {
        body,
        etag: '',
        size: body.length,
        renderedAt: 0,
        freshness: {
          sources: [],
          ok: true,
          outages: '',
          revision: place,
          changesAt: Number.POSITIVE_INFINITY,
        },
        content: { stable: '', render: () => '', position: stands },
      };
    },
  };
  return {
    spec,
    count: () => {
      place += 1;
    },
    reads: () => reads,
  };
}

async function streamsOf(guard: () => Denial | null, spec: StreamSpec<number>, life = TIMES.life) {
  const streams = createStreams({ most: 10, guard, report: () => {}, times: { ...TIMES, life } });
  const server = await listen((request, response) => {
    void streams.open(request as Request, response as Response, spec, spec.since);
  });
  onTestFinished(async () => {
    streams.close();
    await server.close();
  });
  return { streams, url: `${server.url}/elsewhere` };
}

describe('streams', () => {
  it('send a comment now and then, and read nothing while nothing changes', async () => {
    const { spec, count, reads } = counter();
    const { url } = await streamsOf(() => null, spec);
    const stream = await askStream(url, '');
    await until(() => stream.text().split(':\n\n').length > 5);
    // The answer to the request, and one look at what may have changed behind it.
    expect(reads()).toBe(2);
    count();
    await until(() => stream.messages.length === 2);
    expect(reads()).toBe(3);
    stream.close();
  });

  it('ask again who may see them, and cut off who may no longer', async () => {
    const { spec } = counter();
    let asked = 0;
    let isAllowed = true;
    const denial = { error: new MonitorError('forbidden'), challenge: null, redirect: null };
    const { url } = await streamsOf(() => {
      asked += 1;
      return isAllowed ? null : denial;
    }, spec);
    const stream = await askStream(url, '');
    await until(() => asked >= 3);
    expect(stream.isOver()).toBe(false);
    isAllowed = false;
    await until(() => stream.isOver());
  });

  it('end after a time, so that clients come back with the credentials that they have then', async () => {
    const { spec } = counter();
    const { streams, url } = await streamsOf(() => null, spec, 50);
    const [one, other] = await Promise.all([askStream(url, ''), askStream(url, '')]);
    await until(() => one.isOver() && other.isOver());
    expect([one.text(), other.text()].map((text) => text.endsWith('retry: 2000\n\n'))).toEqual([true, true]);
    await until(() => streams.count() === 0);
  });

  it('leave no timer behind when the last client has gone', async () => {
    const started = vi.spyOn(globalThis, 'setInterval');
    const stopped = vi.spyOn(globalThis, 'clearInterval');
    onTestFinished(() => {
      started.mockRestore();
      stopped.mockRestore();
    });
    const { spec, reads, count } = counter();
    const { url } = await streamsOf(() => null, spec);
    const stream = await askStream(url, '');
    await until(() => reads() === 2);
    const mine = started.mock.results
      .filter((_, index) => [TIMES.gather, TIMES.comment].includes(Number(started.mock.calls[index]?.[1])))
      .map(({ value }) => value as NodeJS.Timeout);
    expect(mine).toHaveLength(2);
    stream.close();
    await until(() => mine.every((timer) => stopped.mock.calls.some(([ended]) => ended === timer)));
    const later = vi.spyOn(globalThis, 'setTimeout');
    onTestFinished(() => later.mockRestore());
    const { length } = started.mock.calls;
    count();
    await new Promise((resolve) => setImmediate(resolve));
    // Nothing reads now, and no timer is there that could make it read later.
    expect(reads()).toBe(2);
    expect(started.mock.calls).toHaveLength(length);
    const times: readonly unknown[] = Object.values(TIMES);
    expect(later.mock.calls.filter(([, ms]) => times.includes(ms))).toEqual([]);
  });
});
