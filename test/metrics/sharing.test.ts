import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { until } from '../helpers/redis-server.ts';
import { answer, type FakeExporter, type Script, startExporter, TEXT } from './fake-exporter.ts';
import { mount, outcome } from './metrics-host.ts';

/** An exporter that counts its scrapes, and answers when it is told to. */
async function startHeld(): Promise<{ readonly exporter: FakeExporter; release(): void }> {
  const waiting: (() => void)[] = [];
  const exporter = await startExporter((socket, _head, number) => {
    waiting.push(() => socket.end(answer(`scrapes ${number + 1}\n`)));
  });
  return { exporter, release: () => waiting.splice(0).forEach((send) => void send()) };
}

const counting: Script = (socket, _head, number) => socket.end(answer(`scrapes ${number + 1}\n`));

/** What the exporter said at its scrape of that number. */
const scrape = (number: number): string => `200 ${TEXT} scrapes ${number}\n`;

/** A client that can leave. */
function leavable(base: string): { leave(): void; readonly outcome: Promise<string> } {
  const client = new AbortController();
  const asked = fetch(`${base}/metrics`, { signal: client.signal }).then((response) => response.text());
  return { leave: () => client.abort(), outcome: asked.catch(() => 'left') };
}

describe('scrapes', () => {
  it('are one for all who ask for the same at the same moment, and all get the same bytes', async () => {
    const { exporter, release } = await startHeld();
    const host = await mount(exporter.url);
    const many = Array.from({ length: 50 }, () => outcome(host, { accept: 'text/plain' }));
    await until(() => host.arrived() === 50 && exporter.requests.length === 1);
    release();
    expect(new Set(await Promise.all(many))).toEqual(new Set([scrape(1)]));
    expect(exporter.opened()).toBe(1);
  });

  it('are one for clients that write the same preference differently', async () => {
    const { exporter, release } = await startHeld();
    const host = await mount(exporter.url);
    const many = Array.from({ length: 50 }, (_, n) =>
      outcome(host, { accept: `text/plain;q=0.${n + 1}, text/html;level=${n};q=0.01, x-${n}/*` }),
    );
    await until(() => host.arrived() === 50 && exporter.requests.length === 1);
    release();
    await Promise.all(many);
    expect(exporter.opened()).toBe(1);
  });

  it('are separate for each query and each format', async () => {
    const exporter = await startExporter(counting);
    const host = await mount({ url: exporter.url, query: ['a'] });
    const kinds = [{}, { accept: 'text/plain' }, { query: 'a=1' }, { query: 'a=2' }];
    const bodies = await Promise.all(kinds.map((kind) => outcome(host, kind)));
    expect(new Set(bodies).size).toBe(4);
  });

  it('answer later askers for a second at most', async () => {
    const exporter = await startExporter(counting);
    const host = await mount(exporter.url);
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    expect(await outcome(host)).toBe(scrape(1));
    vi.advanceTimersByTime(999);
    expect(await outcome(host)).toBe(scrape(1));
    vi.advanceTimersByTime(1);
    expect(await outcome(host)).toBe(scrape(2));
  });

  it('do not answer later askers when they failed', async () => {
    const exporter = await startExporter((socket, head, number) =>
      number === 0 ? socket.destroy() : counting(socket, head, number),
    );
    const host = await mount(exporter.url);
    expect(await outcome(host)).toBe('exporter_unavailable');
    expect(await outcome(host)).toBe(scrape(2));
  });

  it('go on while anybody waits, and end with the last client', async () => {
    const { exporter, release } = await startHeld();
    const host = await mount(exporter.url);
    const clients = [leavable(host.base), leavable(host.base)];
    await until(() => host.arrived() === 2 && exporter.requests.length === 1);
    clients[0]?.leave();
    await until(() => host.waiting() === 1);
    expect(exporter.open()).toBe(1);
    clients[1]?.leave();
    await until(() => exporter.open() === 0);
    expect(await Promise.all(clients.map((client) => client.outcome))).toEqual(['left', 'left']);

    const next = outcome(host);
    await until(() => exporter.requests.length === 2);
    release();
    expect(await next).toBe(scrape(2));
  });

  it('leave nothing open after hundreds of clients that went away at once', async () => {
    const { exporter } = await startHeld();
    const { base, waiting } = await mount(exporter.url);
    for (let round = 0; round < 10; round += 1) {
      const clients = Array.from({ length: 30 }, () => leavable(base));
      if (round % 2 === 0) await until(() => exporter.open() > 0);
      for (const client of clients) client.leave();
      await Promise.all(clients.map((client) => client.outcome));
    }
    await until(() => waiting() === 0 && exporter.open() === 0);
  });

  it('are refused as overloaded above eight different ones at once', async () => {
    const { exporter, release } = await startHeld();
    const host = await mount({ url: exporter.url, query: ['a'] });
    const eight = Array.from({ length: 8 }, (_, a) => outcome(host, { query: `a=${a}` }));
    await until(() => exporter.requests.length === 8);
    expect(await outcome(host, { query: 'a=8' })).toBe('overloaded');
    const joined = outcome(host, { query: 'a=0' });
    await until(() => host.arrived() === 10);
    release();
    for (const one of await Promise.all([...eight, joined])) expect(one).toMatch(/^200 .* scrapes \d\n$/);
    const ninth = outcome(host, { query: 'a=8' });
    await until(() => exporter.requests.length === 9);
    release();
    expect(await ninth).toBe(scrape(9));
  });

  it('end when the monitor is closed, and none begins afterwards', async () => {
    const { exporter } = await startHeld();
    const host = await mount(exporter.url);
    const waiting = outcome(host);
    await until(() => exporter.requests.length === 1);
    await Promise.all([host.router.close(), host.router.close()]);
    expect(await waiting).toBe('overloaded');
    await until(() => exporter.open() === 0);
    expect(await outcome(host)).toBe('overloaded');
    expect(exporter.opened()).toBe(1);
  });
});
