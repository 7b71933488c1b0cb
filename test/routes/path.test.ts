import { describe, expect, it, onTestFinished } from 'vitest';
import { createMonitorHandler } from '../../src/node.ts';
import { listen } from '../helpers/hosts.ts';
import { sendRaw } from '../helpers/send-raw.ts';
import { createShop } from '../router/shop-sources.ts';

/** What a request line with this target is answered with. Express would read it first; Node's own server does not. */
async function answerTo(target: string): Promise<{ readonly status: number; readonly text: string }> {
  const handler = createMonitorHandler({ sources: createShop(1).sources, authorize: false });
  const { port, close } = await listen(handler);
  onTestFinished(async () => {
    await handler.close();
    await close();
  });
  const text = await sendRaw(port, `GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
  return { status: Number(/^HTTP\/1\.1 (\d+) /.exec(text)?.[1]), text };
}

describe('a target', () => {
  it.each([
    ['/api/tasks/?', 200, '"task-0001"'],
    ['/api/tasks/?limit=1#part', 200, '"task-0001"'],
    ['/api/tasks/#part?limit=x', 200, '"task-0001"'],
    ['/api/tasks/??limit=1', 400, '"?limit"'],
    ['http://example.com/api/tasks/?q=http://b/?c', 200, '"tasks":[]'],
    ['http://example.com', 200, '<!doctype html>'],
    ['http://example.com?a=1', 200, '<!doctype html>'],
    ['/api/tasks/task-0001', 308, 'Location: ./task-0001/'],
    ['/api/tasks/a%2Fb/graph', 308, 'Location: ./graph/'],
    ['/healthcheck/', 308, 'Location: ../healthcheck'],
    ['/api/tasks/graph/', 404, 'task_not_found'],
    ['/api/tasks//graph/', 400, '"task_id"'],
  ])('%s is answered with %i and %s', async (target, status, part) => {
    const answer = await answerTo(target);
    expect(answer.status).toBe(status);
    expect(answer.text.toLowerCase()).toContain(part.toLowerCase());
  });

  it.each([
    ...['*', '//', '/api', '/api/', '/API/tasks/', '/api/Tasks/', '/api//tasks/', '//api/tasks/'],
    ...['//example.com/api/tasks/', '/api/tasks/http://x/', '/api/t%61sks/', '/api/tasks/a/b/'],
    ...['/api/tasks/a/graph/updates/more/', '/api/tasks/a/graph//', '/metrics//', '/metrics/x'],
    ...[
      '/healthcheck;x',
      '/{task_id}/',
      'foo:///api/tasks/',
      'ftp://example.com/api/tasks/',
      'http:///api/tasks/',
    ],
  ])('%s is not ours', async (target) => {
    const { status, text } = await answerTo(target);
    expect([status, text.split('\r\n\r\n')[1]]).toEqual([404, '']);
  });
});

describe('a task id', () => {
  // Ids that mean something elsewhere are read in `router/hostile-requests.test.ts`.
  it.each([
    ['a+b', 'a+b'],
    ['a%20b', 'a b'],
    ['%25zz', '%zz'],
    ['a%09b', 'a\tb'],
    ['%00', '\u0000'],
  ])('%s is read as it was written', async (segment, id) => {
    const shop = createShop(0);
    shop.tasks = [{ id, state: 'STARTED' }];
    const handler = createMonitorHandler({ sources: shop.sources, authorize: false });
    const { port, close } = await listen(handler);
    onTestFinished(async () => {
      await handler.close();
      await close();
    });
    const text = await sendRaw(
      port,
      `GET /api/tasks/${segment}/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
    );
    expect(text).toContain(`"task_id":${JSON.stringify(id)}`);
  });
});
