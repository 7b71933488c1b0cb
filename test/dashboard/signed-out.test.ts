import type { RequestHandler } from 'express';
import { describe, expect, it } from 'vitest';
import { browserMissing, browserTitle, visit } from './browser.ts';
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
  it('withdraws all that is shown, however the host says it, and gives it back after the next login', async () => {
    const { queue, options } = createShop();
    let over: RequestHandler | null = null;
    const { page, text, later } = await visit(options, '#/', {
      ...{ expected: /40[13]|\/login/, clock: true },
      host: {
        before(app) {
          app.use('/monitor', (request, response, next) =>
            over === null ? next() : over(request, response, next),
          );
          app.get('/login', (_request, response) => void response.send('<!doctype html>Login'));
        },
      },
    });
    for (const [name, [answer, said]] of Object.entries(ENDINGS)) {
      await page.getByText('Workers 1/1').waitFor();
      await page.getByText('Live', { exact: true }).waitFor();
      over = answer;
      // After five seconds without an answer, the page asks.
      await later(6_000);
      await page.getByText(said).waitFor();
      const secret = `secret of ${name}`;
      queue.record({ id: secret, name: secret, state: 'STARTED' });
      await page
        .getByText(/^(?:Signed out|Refused)$/)
        .first()
        .waitFor();
      const all = await text();
      for (const part of ['orders.place', 'celery@one', 'Workers 1/1', 'succeeded', secret, 'Missed one']) {
        expect([name, all]).toEqual([name, expect.not.stringContaining(part)]);
      }
      expect([name, all]).toEqual([name, expect.not.stringMatching(/Live|All good|No known problem/)]);
      over = null;
      await later(4_000);
      await page.getByText('Workers 1/1').waitFor();
      await page.getByText(secret).first().waitFor();
    }
  });

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
});
