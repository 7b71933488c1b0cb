import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BrowserContext } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { browserMissing, browserTitle, look } from '../dashboard/browser.ts';
import { ask } from '../helpers/ask.ts';
import { until } from '../helpers/redis-server.ts';
import { expectEnd, guard, openStream, refusals, startGuard } from './check-guard.ts';
import { freePort, install, type RunningHost, start } from './host-project.ts';

const SIGNED_OUT = 'You are signed out. Sign in and this view comes back.';
const MINUTE = 60_000;

/** The cookies of a browser, for requests that have to be told apart from its own. */
async function cookies(context: BrowserContext) {
  const all = await context.cookies();
  return { cookie: all.map(({ name, value }) => `${name}=${value}`).join('; ') };
}

describe('the recipe for Passport and express-session', () => {
  let host: RunningHost;
  const origin = () => new URL(host.base).origin;

  /** Signs in without a browser. @returns the answer to the login, and its cookie */
  async function signIn(username: string, password = 'change-me', path = '/login') {
    const { status, headers } = await ask(origin(), path, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      send: String(new URLSearchParams({ username, password })),
      ours: false,
    });
    const [set = ''] = headers['set-cookie'] ?? [];
    return { answer: `${status} ${headers.location}`, set, headers: { cookie: set.split(';')[0] ?? '' } };
  }

  beforeAll(async () => {
    const packages = { 'express-session': '1.19.0', passport: '0.7.0', 'passport-local': '1.0.0' };
    host = await startGuard(guard('Passport and express-session', packages), { SESSION_SECRET: 'secret' });
  }, 300_000);
  afterAll(async () => void (await host?.stop()));

  it.skipIf(browserMissing)(
    browserTitle('leads to the login and back to the view, and takes all away after the sign-out'),
    async () => {
      const { page } = await look(host.base, '#/tasks', { title: 'form', expected: /40[14]/ });
      expect(page.url()).toBe(`${origin()}/login?next=%2Fmonitor%2F#/tasks`);
      await page.locator('[name=username]').fill('ann');
      await page.locator('[name=password]').fill('wrong');
      await page.locator('button').click();
      await page.locator('[name=username]').fill('ann');
      await page.locator('[name=password]').fill('change-me');
      await page.locator('button').click();
      await page.getByText('mail.send').filter({ visible: true }).first().waitFor();
      expect(page.url()).toBe(`${host.base}/#/tasks`);

      const stream = await openStream(host.base, await cookies(page.context()));
      await page.context().request.post(`${origin()}/logout`);
      await page.getByText(SIGNED_OUT).waitFor();
      expect(await page.getByText('mail.send').count()).toBe(0);
      await expectEnd(host, stream, MINUTE);
    },
  );

  it('refuses strangers, and who is not an administrator', async () => {
    const strangers = { page: '302 /login?next=%2Fmonitor%2F', tasks: '401 unauthorized' };
    expect(await refusals(host.base)).toEqual({ ...strangers, stream: '401 unauthorized' });
    expect((await signIn('ann', 'wrong')).answer).toBe('302 /login');
    const { headers } = await signIn('bob');
    const forbidden = { page: 403, tasks: '403 forbidden', stream: '403 forbidden' };
    expect(await refusals(host.base, headers)).toEqual(forbidden);
  });

  it('keeps the stream of who stays signed in', async () => {
    const [ann, other] = await Promise.all([signIn('ann'), signIn('ann')]);
    const [stays, ends] = await Promise.all([
      openStream(host.base, ann.headers),
      openStream(host.base, other.headers),
    ]);
    await ask(origin(), '/logout', { method: 'POST', headers: other.headers, ours: false });
    await expectEnd(host, ends, MINUTE);
    const told = stays.messages.length;
    await until(() => stays.messages.length > told + 1);
    expect(stays.isOver()).toBe(false);
    stays.close();
    expect((await refusals(host.base, other.headers)).stream).toBe('401 unauthorized');
  });

  it('sets a cookie that scripts and forms of other sites do not get', async () => {
    expect((await signIn('ann')).set).toMatch(/; Path=\/; HttpOnly; SameSite=Lax$/);
  });

  it.each([
    ['/monitor/', '/monitor/'],
    ['/orders?page=2', '/orders?page=2'],
    ['//evil.example', '/monitor/'],
    ['/\\evil.example', '/monitor/'],
    ['/\t/evil.example', '/monitor/'],
    ['https://evil.example/', '/monitor/'],
    ['javascript:alert(1)', '/monitor/'],
    ['', '/monitor/'],
  ])('leads from the login with next=%j to %s', async (next, target) => {
    const { answer } = await signIn('ann', 'change-me', `/login?next=${encodeURIComponent(next)}`);
    expect(answer).toBe(`302 ${target}`);
  });
});

describe('the recipe for OpenID Connect', () => {
  let provider: RunningHost;
  let host: RunningHost;

  beforeAll(async () => {
    const recipe = guard('OpenID Connect', { 'express-openid-connect': '3.4.0', 'oidc-provider': '9.13.3' });
    const folder = await install(recipe);
    copyFileSync(new URL('openid-provider.mjs', import.meta.url), join(folder, 'openid-provider.mjs'));
    const port = String(await freePort());
    const client = {
      CLIENT_ID: 'monitor',
      CLIENT_SECRET: 'secret of the client',
      BASE_URL: `http://127.0.0.1:${port}`,
    };
    provider = await start({ ...recipe, start: ['openid-provider.mjs'], path: '' }, folder, client);
    host = await start(recipe, folder, {
      ...client,
      PORT: port,
      ISSUER_BASE_URL: provider.base,
      SESSION_SECRET: 'a secret of more than thirty-two bytes',
    });
  }, 300_000);
  afterAll(async () => {
    await host?.stop();
    await provider?.stop();
  });

  /** Opens the page, and signs in at the provider. */
  async function signIn(name: string) {
    const { page } = await look(host.base, '#/tasks', {
      title: '[name=login]',
      expected: /40[134]|request:/,
    });
    expect(page.url().startsWith(provider.base)).toBe(true);
    await page.locator('[name=login]').fill(name);
    await page.locator('[name=password]').fill('any');
    await page.locator('[type=submit]').click();
    await page.getByText('Continue').click();
    return page;
  }

  it.skipIf(browserMissing)(
    browserTitle('leads to the provider and back to the page, and takes all away after the sign-out'),
    async () => {
      const page = await signIn('ann');
      await page.getByText('mail.send').filter({ visible: true }).first().waitFor();
      expect(page.url().startsWith(`${host.base}/`)).toBe(true);
      const session = (await page.context().cookies()).find(({ name }) => name === 'appSession');
      expect(session).toMatchObject({ httpOnly: true, sameSite: 'Lax' });

      const stream = await openStream(host.base, await cookies(page.context()));
      await page.context().request.get(new URL('/logout', host.base).href, { maxRedirects: 0 });
      await page.getByText(SIGNED_OUT).waitFor();
      expect(await page.getByText('mail.send').count()).toBe(0);
      await expectEnd(host, stream, 15 * MINUTE);
    },
  );

  it.skipIf(browserMissing)(browserTitle('refuses who is not in the group'), async () => {
    const page = await signIn('bob');
    await page.getByText('You do not have access to this monitor').waitFor();
  });

  it('refuses strangers, and leads them to the login', async () => {
    const strangers = { page: '302 /login', tasks: '401 unauthorized', stream: '401 unauthorized' };
    expect(await refusals(host.base)).toEqual(strangers);
  });
});
