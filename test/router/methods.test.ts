import { describe, expect, it } from 'vitest';
import { EXPRESS_MAJORS } from '../helpers/hosts.ts';
import { sendRaw } from '../helpers/send-raw.ts';
import { serve, serveAll } from './host-kit.ts';
import { createShop } from './shop-sources.ts';

const PATHS = [
  '/healthcheck',
  '/api/components/',
  '/api/tasks/',
  '/api/tasks/task-0001/',
  '/api/tasks/task-0001/relations/',
  '/api/tasks/task-0001/graph/',
  '/api/tasks/task-0001/graph/updates/',
  '/api/workers/',
  '/api/events/latest/',
  '/api/beat/schedules/',
];
const ALL_PATHS = [...PATHS, '/metrics'];

/** The trailing-slash form that is not the canonical one. */
function otherForm(path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : `${path}/`;
}

describe.each(EXPRESS_MAJORS)('on $name, the router', (major) => {
  const host = serveAll(major, { sources: createShop().sources, health: { reuseMs: 60_000 } });

  it.each(PATHS)('answers GET %s with JSON, and HEAD with the same headers and no body', async (path) => {
    const { get } = host();
    const got = await get(path);
    expect(got.status).toBe(200);
    expect(got.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(got.headers['content-length']).toBe(String(got.bytes.length));
    const head = await get(path, { method: 'HEAD' });
    expect(head.status).toBe(200);
    expect(head.bytes.length).toBe(0);
    for (const name of [
      'content-type',
      'content-length',
      'etag',
      'cache-control',
      'x-content-type-options',
    ]) {
      expect([name, head.headers[name]]).toEqual([name, got.headers[name]]);
    }
  });

  it.each(ALL_PATHS)('answers OPTIONS %s with 204 and what is allowed', async (path) => {
    const answer = await host().get(path, { method: 'OPTIONS' });
    expect(answer.status).toBe(204);
    expect(answer.headers.allow).toBe('GET, HEAD, OPTIONS');
  });

  it.each(['POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND'])('answers %s with 405', async (method) => {
    for (const path of [
      ...ALL_PATHS,
      '/api/tasks',
      '/healthcheck/',
      '/api/tasks/?nonsense=1',
      '/api/tasks/%zz/',
    ]) {
      const answer = await host().get<{ code: string }>(path, { method });
      expect([path, answer.status]).toEqual([path, 405]);
      expect(answer.headers.allow).toBe('GET, HEAD, OPTIONS');
      expect(answer.body.code).toBe('method_not_allowed');
    }
  });

  it.each(ALL_PATHS)('sends the other slash form of %s to the canonical one, query and all', async (path) => {
    const { get, base } = host();
    for (const method of ['GET', 'HEAD']) {
      const answer = await get(`${otherForm(path)}?a=1&b=%2F`, { method });
      expect(answer.status).toBe(308);
      const target = new URL(answer.headers.location ?? '', `${base}${otherForm(path)}?a=1&b=%2F`);
      expect(target.href).toBe(`${base}${path}?a=1&b=%2F`);
      expect(answer.headers.location).toMatch(/^\.\.?\//);
    }
  });

  it('keeps an id in a redirect as it is, whatever it looks like', async () => {
    const { get, base } = host();
    for (const id of ['a:b', 'http:%2F%2Fevil', 'a%2Fb', '%zz', 'javascript:alert(1)', '@evil', '%0d%0ax']) {
      const { headers, status } = await get(`/api/tasks/${id}`);
      expect(status).toBe(308);
      expect(new URL(headers.location ?? '', `${base}/api/tasks/${id}`).href).toBe(
        `${base}/api/tasks/${id}/`,
      );
    }
  });

  it('lets what is not ours fall through to the host', async () => {
    const { get } = await serve(major, { authorize: () => false, dashboard: false });
    const ids = ['/api/tasks/a/b/', '/api/tasks/a/graph/x/', '/api//tasks/'];
    for (const path of [
      '',
      '/',
      '/?a=1',
      '/api',
      '/api/',
      '/API/tasks/',
      '/metrics/x',
      '/x',
      '/x/%zz',
      ...ids,
    ]) {
      for (const method of ['GET', 'POST', 'OPTIONS']) {
        const answer = await get(path, { method, ours: false });
        expect([path, answer.status, answer.text]).toEqual([path, 404, 'host']);
      }
    }
  });

  it('reads a target that has a scheme and host in front', async () => {
    const { url } = await serve(major, { sources: createShop().sources }, { mount: '/' });
    const text = await sendRaw(
      Number(new URL(url).port),
      'GET http://shop.example/api/tasks/?limit=1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    );
    expect(text).toMatch(/^HTTP\/1.1 200 OK\r\n/);
    expect(text).toContain('"task-0025"');
  });
});
