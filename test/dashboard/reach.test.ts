import { readFileSync } from 'node:fs';
import type { Express } from 'express';
import helmet from 'helmet';
import { describe, expect, it } from 'vitest';
import { memorySources } from '../../src/memory.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { nginxMissing, startNginx } from '../helpers/nginx.ts';
import { titleUnless } from '../helpers/redis-server.ts';
import { type HostOptions, serve, until } from '../router/host-kit.ts';
import { browserMissing, browserTitle, look, visit } from './browser.ts';
import { createShop, ids } from './shop.ts';
import { VIEWS } from './views.ts';

const policy = (text: string) => (app: Express) =>
  void app.use((_request, response, next) => {
    response.setHeader('Content-Security-Policy', text);
    next();
  });
const HOSTS: Readonly<Record<string, HostOptions>> = {
  "helmet's default policy": { before: (app) => void app.use(helmet()) },
  "default-src 'self'": { before: policy("default-src 'self'") },
  'nothing but what it needs': {
    before: policy(
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; require-trusted-types-for 'script'",
    ),
  },
  'a mount of two segments': { mount: '/a/b' },
  'the root as its mount': { mount: '/' },
  'a proxy that strips a prefix': {
    path: '/tools/monitor',
    place(app, router) {
      app.use((request, _response, next) => {
        // As a proxy does it: nothing of the prefix reaches the app.
        request.url = request.url.replace(/^\/tools/, '');
        request.originalUrl = request.url;
        next();
      });
      app.use('/monitor', router);
    },
  },
};

describe.skipIf(browserMissing)(browserTitle('in a browser, the page'), () => {
  it.each(Object.keys(HOSTS))('works under %s', async (name) => {
    const host = HOSTS[name] ?? {};
    const { page, go } = await visit(createShop().options, '', { expected: /404/, host });
    await page.getByText('Workers 1/1').waitFor();
    // Where it is mounted, each file is loaded in the same way.
    const isPolicy = host.mount === undefined && host.path === undefined;
    for (const { hash } of isPolicy ? VIEWS : VIEWS.slice(0, 3)) await go(hash);
    await go(`#/workflow/${ids.root}?view=graph`);
    await page.locator('.graph-svg .node').first().waitFor();
  });

  it('keeps the theme and the times that were chosen', async () => {
    const inTokyo = { colorScheme: 'light', timezoneId: 'Asia/Tokyo' } as const;
    const { page } = await visit(createShop().options, '#/workers', inTokyo);
    const background = () => page.evaluate('getComputedStyle(document.body.parentElement).backgroundColor');
    const light = await background();
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('button', { name: 'Theme: Auto' }).click();
    await page.getByRole('button', { name: 'Theme: Light' }).click();
    await page.getByRole('button', { name: 'Theme: Dark' }).waitFor();
    expect(await background()).not.toBe(light);
    await page.getByRole('button', { name: 'Times: Local' }).click();
    await page.reload();
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('button', { name: 'Theme: Dark' }).waitFor();
    await page.getByRole('button', { name: 'Times: UTC' }).waitFor();
    expect(await background()).not.toBe(light);
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.getByRole('button', { name: 'Theme: Dark' }).click();
    expect(await background()).not.toBe(light);
  });

  it('takes the list elsewhere', async () => {
    const { page } = await visit(createShop().options, '#/tasks?name=labels.print');
    await page.getByText('20 tasks', { exact: true }).waitFor();
    for (const [button, ending] of [
      ['CSV', '.csv'],
      ['JSON', '.json'],
    ] as const) {
      const [file] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: button, exact: true }).click(),
      ]);
      expect(file.suggestedFilename()).toMatch(new RegExp(`^tasks-.*\\${ending}$`));
      const text = readFileSync(await file.path(), 'utf8');
      if (ending === '.json') expect(JSON.parse(text)).toHaveLength(20);
      else expect(text.trim().split('\r\n')).toHaveLength(21);
    }
  });
});

const withoutNginx = browserMissing ?? nginxMissing;

describe.skipIf(withoutNginx)(titleUnless(withoutNginx, 'the page behind nginx'), () => {
  it('is found without its slash, loads its files and follows what happens', async () => {
    const queue = memorySources();
    queue.record({ id: 'first', state: 'STARTED', name: 'shop.pay' });
    const { url } = await serve(EXPRESS, { sources: queue });
    const { page, go, text } = await look(`${await startNginx(url)}/monitor`);
    expect(new URL(page.url()).pathname).toBe('/tools/monitor/');
    await go('#/tasks');
    await until(async () => (await text()).includes('shop.pay'));
    queue.record({ id: 'second', state: 'STARTED', name: 'shop.mail' });
    await until(async () => (await text()).includes('shop.mail'));
  });
});
