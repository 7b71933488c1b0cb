import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TasksBody } from '../../src/wire.ts';
import { browserMissing, browserTitle, look } from '../dashboard/browser.ts';
import { ask } from '../helpers/ask.ts';
import { guard, openStream, refusals, startGuard } from './check-guard.ts';
import { type RunningHost, start } from './host-project.ts';

const basic = (name: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`,
});
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
const UNAUTHORIZED = { page: 401, tasks: '401 unauthorized', stream: '401 unauthorized' };
const FORBIDDEN = { page: 403, tasks: '403 forbidden', stream: '403 forbidden' };

describe('the recipe for Basic authentication', () => {
  const right = basic('ops', 'pass:wörd');
  let host: RunningHost;

  beforeAll(async () => {
    host = await startGuard(guard('Basic authentication'), { MONITOR_PASSWORD: 'pass:wörd' });
  }, 300_000);
  afterAll(async () => void (await host?.stop()));

  it.skipIf(browserMissing)(browserTitle('shows the page to a browser with the password'), async () => {
    const { page } = await look(host.base, '#/tasks', {
      httpCredentials: { username: 'ops', password: 'pass:wörd' },
    });
    await page.getByText('mail.send').filter({ visible: true }).first().waitFor();
  });

  it('streams', async () => {
    (await openStream(host.base, right)).close();
  });

  it.each([
    ['no credentials', {}],
    ['a wrong password', basic('ops', 'pass:word')],
    ['an empty password', basic('ops', '')],
    ['the start of the password', basic('ops', 'pass:w')],
    ['another name', basic('root', 'pass:wörd')],
    ['another scheme', { authorization: right.authorization.replace('Basic', 'Bearer') }],
  ])('refuses %s, and asks for a password', async (_what, headers) => {
    expect(await refusals(host.base, headers)).toEqual(UNAUTHORIZED);
    const { headers: answered } = await ask(host.base, '/api/tasks/', { headers });
    expect(answered['www-authenticate']).toBe('Basic realm="monitor", charset="UTF-8"');
  });

  it('does not start without a password', async () => {
    const starting = start(guard('Basic authentication'), host.folder, { MONITOR_PASSWORD: '' });
    await expect(starting).rejects.toThrow('Set MONITOR_PASSWORD.');
  });
});

describe('the recipe for API keys', () => {
  let host: RunningHost;

  beforeAll(async () => {
    const recipe = guard('API keys', { 'prom-client': '15.1.3' });
    host = await startGuard(recipe, { METRICS_KEY: 'scrape', API_KEY: 'script' });
  }, 300_000);
  afterAll(async () => void (await host?.stop()));

  it('lets the key of Prometheus read metrics, and nothing else', async () => {
    const { status, text } = await ask(host.base, '/metrics', { headers: bearer('scrape') });
    expect([status, text.includes('# HELP')]).toEqual([200, true]);
    expect(await refusals(host.base, bearer('scrape'))).toEqual(FORBIDDEN);
  });

  it('lets the key of scripts read all but the page', async () => {
    (await openStream(host.base, bearer('script'))).close();
    const { body } = await ask<TasksBody>(host.base, '/api/tasks/', { headers: bearer('script') });
    expect(body.tasks[0]?.name).toBe('mail.send');
    const page = await ask(host.base, '/', { headers: bearer('script') });
    expect(page.status).toBe(403);
  });

  it.each([
    ['no credentials', {}],
    ['a wrong key', bearer('other')],
    ['both keys at once', bearer('scrape, script')],
    ['a key without its scheme', { authorization: 'script' }],
    ['no key', bearer('')],
  ])('refuses %s', async (_what, headers) => {
    expect(await refusals(host.base, headers)).toEqual(UNAUTHORIZED);
    const { status } = await ask(host.base, '/metrics', { headers });
    expect(status).toBe(401);
  });
});

describe('the recipe for tenants', () => {
  const [ann, bob] = [basic('ann', 'change-me'), basic('bob', 'change-me')];
  let host: RunningHost;
  const base = (tenant: string) => host.base.replace('/acme/', `/${tenant}/`);

  beforeAll(async () => {
    host = await startGuard(guard('One monitor for each tenant', {}, '/t/acme/monitor'));
  }, 300_000);
  afterAll(async () => void (await host?.stop()));

  it.skipIf(browserMissing)(browserTitle('shows each tenant its own page'), async () => {
    const { page, text } = await look(base('globex'), '#/tasks', { extraHTTPHeaders: bob });
    await page.getByText('globex.send').filter({ visible: true }).first().waitFor();
    expect(await text()).not.toContain('acme');
  });

  it('refuses members of another tenant, and strangers', async () => {
    expect(await refusals(base('acme'), bob)).toEqual(FORBIDDEN);
    expect(await refusals(base('globex'), ann)).toEqual(FORBIDDEN);
    expect(await refusals(base('acme'))).toEqual(UNAUTHORIZED);
    const unknown = await ask(base('initech'), '/api/tasks/', { headers: ann, ours: false });
    expect(unknown.status).toBe(404);
  });

  it('shows nothing of another tenant in lists, by id, in streams, or behind its cursor', async () => {
    const [acme, globex] = await Promise.all([
      openStream(base('acme'), ann),
      openStream(base('globex'), bob),
    ]);
    const list = await ask(base('acme'), '/api/tasks/?q=globex', { headers: ann });
    expect(list.body).toMatchObject({ tasks: [] });
    const { body: task } = await ask(base('acme'), '/api/tasks/1/', { headers: ann });
    expect(task).toMatchObject({ name: 'acme.send' });
    const id = globex.messages[0]?.id ?? '';
    const behind = await ask(base('acme'), `/api/events/latest/?since=${id}`, { headers: ann });
    for (const text of [acme.text(), behind.text]) expect(text).not.toContain('globex');
    expect(globex.text()).not.toContain('acme');
    acme.close();
    globex.close();
  });
});
