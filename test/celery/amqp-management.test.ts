import { describe, expect, it } from 'vitest';
import { createManagedQueues } from '../../src/sources/celery/brokers/amqp/management/managed-queues.ts';
import { managementAt, useManagementLab } from './amqp-management-lab.ts';

const { serve } = useManagementLab();

/** A page of rows. */
function page(items: readonly unknown[], pages = 1): string {
  return JSON.stringify({ items, page_count: pages });
}

function row(name: string, more: object = {}): object {
  return {
    name,
    messages_ready: 1,
    messages_unacknowledged: 2,
    exclusive: false,
    auto_delete: false,
    ...more,
  };
}

describe('the queues in a management API', () => {
  it('are those of one virtual host, with the needed columns alone', async () => {
    const paths: string[] = [];
    const url = await serve((request, response) => {
      paths.push(request.url ?? '');
      response.end(
        page([row('a'), row('b', { messages_ready: 'many', exclusive: true }), { name: 3 }, null]),
      );
    });
    const managed = createManagedQueues(managementAt(url), '/shop eu');
    expect(managed.queues()).toBeNull();
    await managed.refresh();
    expect([...(managed.queues() ?? [])]).toEqual([
      ['a', { ready: 1, unacknowledged: 2, isExclusive: false, isAutoDelete: false }],
      ['b', { ready: null, unacknowledged: 2, isExclusive: true, isAutoDelete: false }],
    ]);
    expect(managed.problem()).toBeNull();
    expect(managed.isWhole()).toBe(true);
    const { pathname, searchParams } = new URL(paths[0] ?? '', url);
    expect(pathname).toBe('/api/queues/%2Fshop%20eu');
    expect(searchParams.get('columns')).toBe(
      'name,messages_ready,messages_unacknowledged,exclusive,auto_delete',
    );
  });

  it('are read page by page, and not too many of them', async () => {
    const url = await serve((request, response) => {
      const at = Number(new URL(request.url ?? '', 'http://a').searchParams.get('page'));
      response.end(
        page(
          Array.from({ length: 500 }, (_, index) => row(`q${at}-${index}`)),
          1_000,
        ),
      );
    });
    const managed = createManagedQueues(managementAt(url), '/');
    await managed.refresh();
    expect(managed.queues()?.size).toBe(10_000);
    expect(managed.isWhole()).toBe(false);
  });

  it('are read once in five seconds, by one request at a time', async () => {
    let now = 0;
    let requests = 0;
    const url = await serve((_request, response) => {
      requests += 1;
      response.end(page([]));
    });
    const managed = createManagedQueues(managementAt(url), '/', () => now);
    await Promise.all([managed.refresh(), managed.refresh()]);
    now = 4_999;
    await managed.refresh();
    expect(requests).toBe(1);
    now = 5_000;
    await managed.refresh();
    expect(requests).toBe(2);
  });

  it('stay for a while when the API fails, and come back', async () => {
    let now = 0;
    let isUp = true;
    const url = await serve((_request, response) => {
      if (isUp) response.end(page([row('a')]));
      else response.writeHead(500).end();
    });
    const managed = createManagedQueues(managementAt(url), '/', () => now);
    await managed.refresh();
    isUp = false;
    now = 10_000;
    await managed.refresh();
    expect(managed.queues()?.size).toBe(1);
    expect(managed.problem()?.code).toBe('INVALID');
    now = 20_000;
    await managed.refresh();
    expect(managed.queues()).toBeNull();
    isUp = true;
    now = 30_000;
    await managed.refresh();
    expect(managed.queues()?.size).toBe(1);
    expect(managed.problem()).toBeNull();
  });

  it('are not asked for after the end, which ends a request under way', async () => {
    let requests = 0;
    const url = await serve(() => {
      requests += 1;
    });
    const managed = createManagedQueues(managementAt(url), '/');
    const reading = managed.refresh();
    managed.close();
    await reading;
    await managed.refresh();
    expect(requests).toBeLessThanOrEqual(1);
    expect(managed.queues()).toBeNull();
  });
});
