import { readFileSync } from 'node:fs';
import type { Express } from 'express';
import helmet from 'helmet';
import { describe, expect, it } from 'vitest';
import { EXPRESS_MAJORS } from '../helpers/hosts.ts';
import { type HostOptions, serve, until } from '../router/host-kit.ts';
import { axeFinds } from './axe.ts';
import { browserMissing, browserTitle, look } from './browser.ts';
import { createShop, ids } from './shop.ts';

const [major] = EXPRESS_MAJORS;
if (major === undefined) throw new Error('there is no Express');
const VIEWS: readonly (readonly [name: string, hash: string])[] = [
  ['the overview', '#/'],
  ['the list', '#/tasks'],
  ['a task', `#/tasks/${ids.failed}`],
  ['a workflow', `#/workflow/${ids.root}`],
  ['a workflow as a graph', `#/workflow/${ids.root}?view=graph`],
  ['queues', '#/queues'],
  ['a queue', '#/queues/payments'],
  ['a name', '#/names/payments.charge'],
  ['workers', '#/workers'],
  ['schedules', '#/schedules'],
  ['system', '#/system'],
];

const SAMPLE = ['the overview', 'the list', 'a workflow as a graph'];

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
    const { base } = await serve(major, createShop().options, HOSTS[name]);
    const { page, go } = await look(base, '', { expected: /404/ });
    await page.getByText('Workers 1/1').waitFor();
    // Where it is mounted, each file is loaded in the same way.
    const isPolicy = HOSTS[name]?.mount === undefined && HOSTS[name]?.path === undefined;
    for (const [, hash] of isPolicy ? VIEWS : VIEWS.slice(0, 3)) await go(hash);
    await go(`#/workflow/${ids.root}?view=graph`);
    await page.locator('.graph-svg .node').first().waitFor();
  });

  it('fits a phone, with nothing serious for axe to find', async () => {
    const { base } = await serve(major, createShop().options);
    const { page, go, settled } = await look(base, '', {
      ...{ viewport: { width: 390, height: 844 }, colorScheme: 'dark' },
      ...{ expected: /404/, bypassCSP: true },
    });
    for (const [name, hash] of VIEWS) {
      await go(hash);
      await settled();
      const overflow = await page.evaluate(
        'document.documentElement.scrollWidth - innerWidth + (document.querySelector("main").scrollWidth - document.querySelector("main").clientWidth)',
      );
      expect([name, overflow]).toEqual([name, 0]);
      // `axe.test.ts` looks at all of them, in both themes and sizes.
      if (SAMPLE.includes(name)) expect([name, await axeFinds(page)]).toEqual([name, []]);
    }
  });

  it('can be used by keys alone', async () => {
    const { base } = await serve(major, createShop().options);
    const { page } = await look(base, '');
    await page.keyboard.press('g');
    await page.keyboard.press('t');
    await until(() => page.url().endsWith('#/tasks'));
    await page.locator('.rows .row').first().waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('payments');
    await page.getByText('2 tasks', { exact: true }).waitFor();
    await page.keyboard.press('Escape');
    await page.locator('.scroller').focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'payments.charge' }).waitFor();
    await until(async () => (await page.evaluate('document.activeElement?.id')) === 'view-title');
    await page.keyboard.press('?');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
  });

  it('keeps the theme and the times that were chosen', async () => {
    const { base } = await serve(major, createShop().options);
    const { page } = await look(base, '#/workers', { colorScheme: 'light', timezoneId: 'Asia/Tokyo' });
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
    const { base } = await serve(major, createShop().options);
    const { page } = await look(base, '#/tasks?name=labels.print');
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
