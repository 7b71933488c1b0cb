import type { RequestHandler } from 'express';
import { describe, expect, it } from 'vitest';
import { EXPRESS } from '../helpers/hosts.ts';
import { serve, until } from '../router/host-kit.ts';
import { browserMissing, browserTitle, look, visit } from './browser.ts';
import { createShop } from './shop.ts';

const SIGNED_OUT = 'You are signed out. Sign in and this view comes back.';
const REFUSED = 'You do not have access to this monitor. The app refused the request.';

/** How hosts answer requests of a session that is over. */
const ENDINGS: Readonly<Record<string, readonly [answer: RequestHandler, text: string]>> = {
  'a redirect to a login page': [(_request, response) => response.redirect('/login'), SIGNED_OUT],
  'a redirect to a login page of another site': [
    (_request, response) => response.redirect('https://login.example/'),
    SIGNED_OUT,
  ],
  'a login page in place of JSON': [
    (_request, response) => void response.send('<!doctype html><title>Login</title>'),
    SIGNED_OUT,
  ],
  '401': [(_request, response) => void response.status(401).json({}), SIGNED_OUT],
  '403': [(_request, response) => void response.status(403).json({}), REFUSED],
};

describe.skipIf(browserMissing)(browserTitle('in a browser, a session that ends'), () => {
  it.each(Object.keys(ENDINGS))(
    'in %s withdraws all that is shown, and gives it back after the next login',
    async (name) => {
      const [answer, text] = ENDINGS[name] ?? [];
      if (answer === undefined || text === undefined) throw new Error('unknown ending');
      const { queue, options } = createShop();
      let isOver = false;
      const {
        page,
        text: shown,
        later,
      } = await visit(options, '#/', {
        ...{ expected: /40[13]|login\.example/, clock: true },
        host: {
          before(app) {
            app.use('/monitor', (request, response, next) =>
              isOver ? answer(request, response, next) : next(),
            );
            app.get('/login', (_request, response) => void response.send('<!doctype html>Login'));
          },
        },
      });
      await page.getByText('Workers 1/1').waitFor();
      await page.getByText('Live', { exact: true }).waitFor();
      isOver = true;
      // After five seconds without an answer, the page asks.
      await later(6_000);
      await page.getByText(text).waitFor();
      queue.record({ id: 'secret', name: 'secret.task', state: 'STARTED' });
      await page
        .getByText(/^(?:Signed out|Refused)$/)
        .first()
        .waitFor();
      const all = await shown();
      for (const part of [
        'orders.place',
        'celery@one',
        'Workers 1/1',
        'succeeded',
        'secret.task',
        'Missed one',
      ]) {
        expect(all).not.toContain(part);
      }
      expect(all).not.toMatch(/Live|No problem found/);
      isOver = false;
      await later(4_000);
      await page.getByText('Workers 1/1').waitFor();
      await page.getByText('secret.task').first().waitFor();
    },
  );

  it('for one route alone withdraws its data, and nothing else', async () => {
    let isAllowed = true;
    const { page, go, later } = await visit(
      { ...createShop().options, authorize: (_request, route) => isAllowed || route !== 'workers' },
      '#/workers',
      { expected: /403/, clock: true },
    );
    await page.getByRole('region', { name: 'celery@one' }).waitFor();
    isAllowed = false;
    await later(20_000);
    await page.getByText("The app's authorize function refused this request.").waitFor();
    expect(await page.getByRole('region', { name: 'celery@one' }).count()).toBe(0);
    expect(await page.getByText('Workers 1/1').count()).toBe(0);
    await go('#/tasks');
    await page.getByText('23 tasks').waitFor();
  });

  it('leads to the login page of authorize when the page is opened', async () => {
    const { base, url } = await serve(
      EXPRESS,
      { ...createShop().options, authorize: () => ({ redirect: '/login?next=%2Fmonitor%2F' }) },
      {
        before: (app) =>
          void app.get(
            '/login',
            (_request, response) => void response.send('<h1 id="view-title">Login</h1>'),
          ),
      },
    );
    // The login page has no icon.
    const { page } = await look(base, '#/tasks', { expected: /404/ });
    await until(() => page.url().startsWith(`${url}/login?next=`));
  });

  it.each([
    [401, 'You are signed out'],
    [403, 'You do not have access to this monitor'],
  ] as const)('shows a page and no JSON for %d when the page is opened', async (status, heading) => {
    const { base } = await serve(EXPRESS, {
      authorize: () => ({ status }),
      dashboard: { title: 'Shop' },
    });
    const { page } = await look(base, '', { expected: /40[13]/, title: 'h1' });
    expect(await page.locator('h1').textContent()).toBe(heading);
    expect(await page.title()).toBe(`${heading} · Shop`);
  });
});
