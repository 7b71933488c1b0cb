import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { browserMissing, browserTitle, look } from '../dashboard/browser.ts';
import { ask } from '../helpers/ask.ts';
import { listen } from '../helpers/hosts.ts';
import { nginxMissing, runNginx, untilAnswered } from '../helpers/nginx.ts';
import { titleUnless } from '../helpers/redis-server.ts';
import { codeBlocks } from '../packaging/code-blocks.ts';
import { expectEnd, guard, openStream, refusals, startGuard } from './check-guard.ts';
import { freePort, type RunningHost } from './host-project.ts';

const SIGNED_OUT = 'You are signed out. Sign in and this view comes back.';
const HEADER = 'x-auth-request-email';

/** A sign-in service with the paths of oauth2-proxy: the cookie `user` names who is signed in. */
async function startSignIn(): Promise<string> {
  const { url, close } = await listen((request, response) => {
    const user = /(?:^|; )user=([^;]+)/.exec(request.headers.cookie ?? '')?.[1];
    if (request.url?.startsWith('/oauth2/sign_in') === true) {
      response.setHeader('content-type', 'text/html');
      response.end('<!doctype html><h1>Sign in</h1>');
      return;
    }
    if (user !== undefined) response.setHeader('X-Auth-Request-Email', user);
    response.writeHead(user === undefined ? 401 : 202).end();
  });
  onTestFinished(close);
  return url;
}

describe.skipIf(nginxMissing)(titleUnless(nginxMissing, 'the recipe for a proxy'), () => {
  let host: RunningHost;

  beforeAll(async () => {
    host = await startGuard(guard('A proxy that signs users in'));
  }, 300_000);
  afterAll(async () => void (await host?.stop()));

  /** Starts nginx with the configuration of the recipe, until the test is over. @returns the monitor behind it */
  async function startProxy(): Promise<string> {
    const blocks = codeBlocks('docs/guarding.md').filter(({ language }) => language === 'nginx');
    expect(blocks).toHaveLength(1);
    const port = await freePort();
    const configuration = (blocks[0]?.text ?? '')
      .replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`)
      .replaceAll('http://127.0.0.1:3000', new URL(host.base).origin)
      .replaceAll('http://127.0.0.1:4180', await startSignIn());
    runNginx(configuration);
    const base = `http://127.0.0.1:${port}/monitor`;
    await untilAnswered(base, '/', 302);
    return base;
  }

  it.skipIf(browserMissing)(
    browserTitle('shows the page to who is signed in, and takes all away after the sign-out'),
    async () => {
      const base = await startProxy();
      const { page } = await look(base, '#/tasks', { title: 'h1', expected: /40[134]/ });
      expect(page.url()).toContain('/oauth2/sign_in?rd=/monitor/');
      const context = page.context();
      await context.addCookies([{ name: 'user', value: 'ann@example.org', url: base }]);
      await page.goto(`${base}/#/tasks`);
      await page.getByText('mail.send').filter({ visible: true }).first().waitFor();

      const stream = await openStream(base, { cookie: 'user=ann@example.org' });
      await context.clearCookies();
      await page.getByText(SIGNED_OUT).waitFor();
      await expectEnd(host, stream, 15 * 60_000);
    },
  );

  it('lets in who has an address of the company, and nobody else', async () => {
    const base = await startProxy();
    const right = await ask(base, '/api/tasks/', { headers: { cookie: 'user=ann@example.org' } });
    expect(right.status).toBe(200);
    const forbidden = { page: 403, tasks: '403 forbidden', stream: '403 forbidden' };
    for (const user of ['ann@example.com', 'ann@example.org.evil.example']) {
      expect(await refusals(base, { cookie: `user=${user}` })).toEqual(forbidden);
    }
  });

  it('replaces the header of a client', async () => {
    const base = await startProxy();
    const forged = { [HEADER]: 'ann@example.org' };
    const stranger = await ask(base, '/api/tasks/', { headers: forged, ours: false });
    expect([stranger.status, stranger.headers.location]).toEqual([302, '/oauth2/sign_in?rd=/monitor/']);
    const headers = { ...forged, cookie: 'user=ann@example.com' };
    expect((await ask(base, '/api/tasks/', { headers })).status).toBe(403);
  });

  it('refuses requests without the header', async () => {
    const unauthorized = { page: 401, tasks: '401 unauthorized', stream: '401 unauthorized' };
    expect(await refusals(host.base)).toEqual(unauthorized);
  });
});
