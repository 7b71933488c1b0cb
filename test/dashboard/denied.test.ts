import helmet from 'helmet';
import { describe, expect, it, vi } from 'vitest';
import type { MonitorOptions } from '../../src/index.ts';
import type { ProblemBody } from '../../src/wire.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { serve } from '../router/host-kit.ts';

type Hook = Exclude<MonitorOptions['authorize'], false | undefined>;

/** What a browser sends that opens a page. */
const BROWSER = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };

describe('the page that authorize refuses', () => {
  const open = async (authorize: Hook, options: MonitorOptions = {}, headers: object = BROWSER) => {
    const { get } = await serve(EXPRESS, { authorize, ...options });
    return get('/', { ours: false, headers: { ...headers } });
  };

  it.each<[number, Hook, string]>([
    [401, () => ({ status: 401, detail: 'Ask <Ada>.' }), 'You are signed out'],
    [403, () => ({ status: 403, detail: 'Ask <Ada>.' }), 'You do not have access to this monitor'],
  ])('is a page that says so, with status %d', async (expected, authorize, heading) => {
    const { status, headers, text } = await open(authorize, { dashboard: { title: 'Shop & Co' } });
    expect(status).toBe(expected);
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
    expect(headers.vary).toMatch(/Accept/);
    expect(headers['content-security-policy']).toMatch(/default-src 'none'; style-src 'sha256-/);
    expect(text).toContain(`<h1>${heading}</h1>`);
    expect(text).toContain('Ask &lt;Ada&gt;.');
    expect(text).toContain('Shop &amp; Co');
    expect(text).not.toContain('<script');
  });

  it('is a page that says so when the monitor was closed', async () => {
    const { get, router } = await serve(EXPRESS, { dashboard: { title: 'Shop' } });
    await router.close();
    const { status, headers, text } = await get('/', { ours: false, headers: BROWSER });
    expect([status, headers['content-type'], headers['retry-after']]).toEqual([
      503,
      'text/html; charset=utf-8',
      '1',
    ]);
    expect(text).toContain('<h1>The monitor is not running</h1>');
    const { body } = await get<ProblemBody>('/', { ours: false });
    expect(body.code).toBe('overloaded');
  });

  it('has the challenge, so that a browser asks for a password', async () => {
    const { status, headers } = await open(() => ({ status: 401, challenge: 'Basic realm="shop"' }));
    expect([status, headers['www-authenticate']]).toEqual([401, 'Basic realm="shop"']);
  });

  it("leaves the host's own policy", async () => {
    const { get } = await serve(
      EXPRESS,
      { authorize: () => false },
      { before: (app) => void app.use(helmet()) },
    );
    const { headers } = await get('/', { ours: false, headers: BROWSER });
    expect(headers['content-security-policy']).toMatch(/upgrade-insecure-requests/);
  });

  it.each([{}, { accept: '*/*' }, { accept: 'application/json' }, { accept: 'text/html;q=0, */*' }])(
    'is problem JSON for the headers %j',
    async (headers) => {
      for (const authorize of [() => false, () => ({ redirect: '/login' })] satisfies Hook[]) {
        const { status, headers: answered, body } = await open(authorize, {}, headers);
        expect(answered['content-type']).toBe('application/problem+json');
        expect(answered.location).toBeUndefined();
        expect((body as ProblemBody).status).toBe(status);
      }
    },
  );

  it.each(['/login', '/login?next=%2Fmonitor%2F', './sign-in', '../', '?a=b', '/a//b', 'login'])(
    'redirects to %s',
    async (redirect) => {
      const { status, headers, text } = await open(async () => ({ redirect }));
      expect([status, headers.location, text]).toEqual([302, redirect, '']);
      expect(headers['cache-control']).toBe('no-store');
    },
  );

  it("redirects to a URL of the host's own origin", async () => {
    const { get, url } = await serve(EXPRESS, {
      authorize: (request) => ({ redirect: `${request.get('x-scheme')}://${request.headers.host}/login` }),
    });
    const { host } = new URL(url);
    for (const scheme of ['http', 'https', 'HTTP']) {
      const { headers } = await get('/', { ours: false, headers: { ...BROWSER, 'x-scheme': scheme } });
      expect(headers.location).toBe(`${scheme}://${host}/login`);
    }
  });

  it('redirects to the origin of publicUrl', async () => {
    const redirect = 'https://ops.example/login';
    const { headers } = await open(() => ({ redirect }), { publicUrl: 'https://ops.example/monitor/' });
    expect(headers.location).toBe(redirect);
  });

  it('refuses the origin that the client names as Host, where publicUrl has one', async () => {
    const { get } = await serve(EXPRESS, {
      authorize: (request) => ({ redirect: `http://${request.headers.host}/login` }),
      publicUrl: 'https://ops.example/monitor/',
      onError: () => {},
    });
    const { status } = await get('/', { ours: false, headers: { ...BROWSER, host: 'evil.example' } });
    expect(status).toBe(403);
  });

  it.each([
    '//evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '/\t/evil.example',
    '\t//evil.example',
    'https://evil.example/',
    'https:evil.example',
    'https:/evil.example',
    'https:///evil.example',
    'http://127.0.0.1.evil.example/',
    'https://user@ops.example/',
    'http://ops.example/login',
    'javascript:alert(1)',
    'data:text/html,x',
    '/login\r\nSet-Cookie: a=b',
    '/login\u0000',
    '/lögin',
    `/${'x'.repeat(2_048)}`,
    '',
    5,
    null,
  ])('refuses to redirect to %j', async (redirect) => {
    const onError = vi.fn();
    const publicUrl = 'https://ops.example/monitor/';
    const { status, headers } = await open(() => ({ redirect }) as { redirect: string }, {
      onError,
      publicUrl,
    });
    expect(status).toBe(403);
    expect([headers.location, headers['set-cookie']]).toEqual([undefined, undefined]);
    expect(onError.mock.calls[0]?.[0]).toMatchObject({ message: /^authorize's redirect must be a path/ });
  });

  it('answers 401 for its files', async () => {
    const { get } = await serve(EXPRESS, {});
    const asset = /\.\/(assets\/[\w.-]+)/.exec((await get('/', { ours: false })).text)?.[1];
    const denied = await serve(EXPRESS, { authorize: () => ({ redirect: '/login' }) });
    const { status, headers } = await denied.get(`/${asset}`, { ours: false, headers: BROWSER });
    expect([status, headers.location]).toEqual([401, undefined]);
  });
});
