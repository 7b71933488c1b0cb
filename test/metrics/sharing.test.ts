import { describe, expect, it, vi } from 'vitest';
import type { MetricsOptions, MetricsServer } from '../../src/http/metrics-proxy.ts';
import { answer, type Script, startExporter, until } from './fake-exporter.ts';
import { connectProxy, PROXY_VERSIONS } from './proxy-versions.ts';

/** An exporter that counts its scrapes, and answers when it is told to. */
async function startHeld() {
  const waiting: (() => void)[] = [];
  const exporter = await startExporter((socket, _head, number) => {
    waiting.push(() => socket.end(answer(`scrapes ${number + 1}\n`)));
  });
  return { exporter, waiting, release: () => waiting.splice(0).forEach((send) => void send()) };
}

const counting: Script = (socket, _head, number) => socket.end(answer(`scrapes ${number + 1}\n`));

describe.each(PROXY_VERSIONS)('scrapes through $name', ({ load }) => {
  const connect = (options: MetricsOptions) => connectProxy(options, load);
  const text = async (reply: ReturnType<MetricsServer['scrape']>): Promise<string> =>
    (await reply).body.toString();

  it('are one for all who ask for the same at the same moment, and all get the same bytes', async () => {
    const { exporter, release } = await startHeld();
    const proxy = connect({ url: exporter.url });
    const many = Array.from({ length: 50 }, () => proxy.scrape({ accept: 'text/plain' }));
    await until(() => exporter.requests.length === 1, 'the exporter is asked');
    release();
    const [first, ...others] = await Promise.all(many);
    expect(first?.body.toString()).toBe('scrapes 1\n');
    for (const other of others) expect(other.body).toBe(first?.body);
    expect(exporter.opened()).toBe(1);
  });

  it('are one for clients that write the same preference differently', async () => {
    const { exporter, release } = await startHeld();
    const proxy = connect({ url: exporter.url });
    const many = Array.from({ length: 50 }, (_, n) =>
      proxy.scrape({ accept: `text/plain;q=0.${n + 1}, text/html;level=${n};q=0.01, x-${n}/*` }),
    );
    await until(() => exporter.requests.length === 1, 'the exporter is asked');
    release();
    await Promise.all(many);
    expect(exporter.opened()).toBe(1);
  });

  it('are separate for each query and each format', async () => {
    const exporter = await startExporter(counting);
    const proxy = connect({ url: exporter.url, query: ['a'] });
    const bodies = await Promise.all([
      text(proxy.scrape({})),
      text(proxy.scrape({ accept: 'text/plain' })),
      text(proxy.scrape({ query: new URLSearchParams({ a: '1' }) })),
      text(proxy.scrape({ query: 'a=2' })),
    ]);
    expect(new Set(bodies).size).toBe(4);
  });

  it('answer later askers for a second at most', async () => {
    const exporter = await startExporter(counting);
    const proxy = connect({ url: exporter.url });
    const before = performance.now();
    const first = await text(proxy.scrape({}));
    const after = performance.now();
    const again = await text(proxy.scrape({}));
    if (performance.now() - before < 1_000) expect(again).toBe(first);
    await until(() => performance.now() - after >= 1_000, 'a second has passed');
    expect(await text(proxy.scrape({}))).not.toBe(first);
  });

  it('do not answer later askers when they failed', async () => {
    const exporter = await startExporter((socket, head, number) =>
      number === 0 ? socket.destroy() : counting(socket, head, number),
    );
    const proxy = connect({ url: exporter.url });
    await expect(proxy.scrape({})).rejects.toMatchObject({ code: 'exporter_unavailable' });
    expect(await text(proxy.scrape({}))).toBe('scrapes 2\n');
  });

  it('go on while anybody waits, and end with the last client', async () => {
    const { exporter, release } = await startHeld();
    const proxy = connect({ url: exporter.url });
    const clients = [new AbortController(), new AbortController()];
    const replies = clients.map(({ signal }) => proxy.scrape({ signal }));
    const outcomes = Promise.allSettled(replies);
    await until(() => exporter.requests.length === 1, 'the exporter is asked');
    clients[0]?.abort();
    await expect(replies[0]).rejects.toMatchObject({ code: 'exporter_unavailable' });
    expect(exporter.open()).toBe(1);
    clients[1]?.abort();
    await until(() => exporter.open() === 0, 'the connection to the exporter is closed');
    await outcomes;

    const next = text(proxy.scrape({}));
    await until(() => exporter.requests.length === 2, 'the exporter is asked again');
    release();
    expect(await next).toBe('scrapes 2\n');
  });

  it('leave nothing open after a thousand clients that went away at once', async () => {
    const { exporter } = await startHeld();
    const proxy = connect({ url: exporter.url });
    for (let round = 0; round < 20; round += 1) {
      const clients = Array.from({ length: 50 }, () => new AbortController());
      const replies = Promise.allSettled(clients.map(({ signal }) => proxy.scrape({ signal })));
      if (round % 2 === 0) await until(() => exporter.open() > 0, 'the exporter is asked');
      for (const client of clients) client.abort();
      for (const { status } of await replies) expect(status).toBe('rejected');
    }
    await until(() => exporter.open() === 0, 'no connection to the exporter is open');
  });

  it('are not begun for a client that has already gone', async () => {
    const exporter = await startExporter(counting);
    const proxy = connect({ url: exporter.url });
    await expect(proxy.scrape({ signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'exporter_unavailable',
    });
    expect(exporter.opened()).toBe(0);
  });

  it('are refused as overloaded above eight different ones at once', async () => {
    const { exporter, release } = await startHeld();
    const proxy = connect({ url: exporter.url, query: ['a'] });
    const eight = Array.from({ length: 8 }, (_, a) => proxy.scrape({ query: `a=${a}` }));
    await expect(proxy.scrape({ query: 'a=8' })).rejects.toMatchObject({ code: 'overloaded' });
    const joined = proxy.scrape({ query: 'a=0' });
    await until(() => exporter.requests.length === 8, 'the exporter is asked eight times');
    release();
    expect(await Promise.all([...eight, joined])).toHaveLength(9);
    const ninth = proxy.scrape({ query: 'a=8' });
    await until(() => exporter.requests.length === 9, 'the exporter is asked once more');
    release();
    await ninth;
  });

  it('are refused when a query name was not allowed by the host, naming each', async () => {
    const exporter = await startExporter(counting);
    const proxy = connect({ url: exporter.url, query: ['name[]'] });
    await expect(proxy.scrape({ query: 'name[]=a&target=b&__proto__=c&target=d' })).rejects.toMatchObject({
      code: 'invalid_parameter',
      faults: [{ parameter: 'target' }, { parameter: '__proto__' }],
    });
    expect(exporter.opened()).toBe(0);
  });

  it('end when the proxy is closed, and none begins afterwards', async () => {
    const { exporter } = await startHeld();
    const proxy = connect({ url: exporter.url });
    const waiting = proxy.scrape({});
    const outcome = expect(waiting).rejects.toMatchObject({ code: 'overloaded' });
    await until(() => exporter.requests.length === 1, 'the exporter is asked');
    proxy.close();
    proxy.close();
    await outcome;
    await until(() => exporter.open() === 0, 'the connection to the exporter is closed');
    await expect(proxy.scrape({})).rejects.toMatchObject({ code: 'overloaded' });
    expect(await proxy.check()).toBeNull();
    expect(exporter.opened()).toBe(1);
  });

  it('stop at the first hop when the exporter leads back to a monitor', async () => {
    const exporter = await startExporter(counting);
    const proxy = connect({ url: exporter.url });
    await proxy.scrape({});
    const sent = Object.fromEntries(
      (exporter.requests[0] ?? '')
        .split('\r\n')
        .slice(1, -2)
        .map((line) => line.toLowerCase().split(': ')),
    );
    await expect(proxy.scrape({ headers: sent })).rejects.toMatchObject({ code: 'exporter_invalid' });
    expect(exporter.requests).toHaveLength(1);
  });

  it('say whether the exporter can be reached, without asking it again', async () => {
    const exporter = await startExporter(counting);
    const proxy = connect({ url: exporter.url });
    await proxy.scrape({});
    expect(await Promise.all([proxy.check(), proxy.check()])).toEqual([true, true]);
    expect(exporter.requests).toHaveLength(1);
  });

  it('are made by a check when nobody else asked, once for all who check', async () => {
    const up = await startExporter(counting);
    const proxy = connect({ url: up.url });
    expect(await Promise.all([proxy.check(), proxy.check(), proxy.check()])).toEqual([true, true, true]);
    expect(up.requests).toHaveLength(1);
    const gone = await startExporter(counting);
    await gone.close();
    const down = connect({ url: gone.url });
    expect(await down.check()).toBe(false);
  });

  it('do not keep a check waiting for longer than about a second', async () => {
    const { exporter } = await startHeld();
    const proxy = connect({ url: exporter.url, timeoutMs: 3_000 });
    // Nothing is known yet: it did not wait for the scrape to time out.
    expect(await proxy.check()).toBeNull();
    await until(() => exporter.open() === 0, 'the scrape has timed out');
    expect(await proxy.check()).toBe(false);
    expect(exporter.requests).toHaveLength(1);
  });
});

describe('createMetricsProxy', () => {
  it('loads http-proxy-middleware at the first scrape and once, and tries again after a failure', async () => {
    const exporter = await startExporter(counting);
    const [version] = PROXY_VERSIONS;
    const load = vi.fn(() => version?.load() ?? Promise.reject(new Error('none')));
    load.mockRejectedValueOnce(new Error('Cannot find package'));
    const proxy = connectProxy(exporter.url, load);
    expect(load).not.toHaveBeenCalled();
    await expect(proxy.scrape({})).rejects.toMatchObject({ code: 'exporter_unavailable' });
    await proxy.scrape({});
    await proxy.scrape({ accept: 'text/plain' });
    expect(load).toHaveBeenCalledTimes(2);
  });
});
