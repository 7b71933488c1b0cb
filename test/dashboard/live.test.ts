import express from 'express';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createMonitorRouter } from '../../src/index.ts';
import { freePort } from '../helpers/redis-server.ts';
import { until } from '../router/host-kit.ts';
import { browserMissing, browserTitle, look, visit } from './browser.ts';
import { createShop } from './shop.ts';

describe.skipIf(browserMissing)(browserTitle('in a browser, a page that stays open'), () => {
  it('shows at once what happens', async () => {
    const { queue, options } = createShop();
    const { page, go } = await visit(options, '#/tasks');
    await page.getByText('Live', { exact: true }).waitFor();
    await page.getByText('23 tasks').waitFor();
    queue.record({ id: 'new', name: 'brand.new', state: 'STARTED' });
    await page.getByRole('link', { name: 'brand.new' }).waitFor();
    await go('#/tasks/new');
    await page.locator('.task-state').getByText('STARTED').waitFor();
    queue.record({ id: 'new', name: 'brand.new', state: 'SUCCESS', result: 42 });
    await page.locator('.task-state').getByText('SUCCESS').waitFor();
    await go('#/');
    queue.record({ id: 'other', name: 'other.new', state: 'FAILURE', error: new Error('x') });
    await page.locator('.named').getByText('other.new').waitFor();
    await go('#/workflow/order-1?view=graph');
    await page.locator('.graph-svg .node').first().waitFor();
    queue.record({
      id: 'late',
      name: 'late.comer',
      state: 'STARTED',
      parentId: 'order-1',
      rootId: 'order-1',
    });
    await page.getByRole('button', { name: /late\.comer, STARTED/ }).waitFor();
    queue.record({ id: 'late', name: 'late.comer', state: 'SUCCESS' });
    await page.getByRole('button', { name: /late\.comer, SUCCESS/ }).waitFor();
  });

  it('says that nothing comes any more, and goes on when the server is back', async () => {
    const { queue, options } = createShop();
    const port = await freePort();
    const start = async () => {
      const router = createMonitorRouter({
        ...options,
        authorize: false,
        sources: { ...queue, close: () => {} },
      });
      const server = express().use('/monitor', router).listen(port, '127.0.0.1');
      await new Promise((resolve) => server.once('listening', resolve));
      return async () => {
        await router.close();
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      };
    };
    let stop = await start();
    onTestFinished(() => stop());
    const { page, later } = await look(`http://127.0.0.1:${port}/monitor`, '#/tasks', {
      ...{ expected: /Failed to load|net::ERR/, clock: true },
    });
    await page.getByText('23 tasks').waitFor();
    await stop();
    await page.getByText('No answer', { exact: true }).waitFor();
    await page.getByText(/^No answer since \d\d:\d\d:\d\d\. Figures are from then\.$/).waitFor();
    expect(await page.locator('.rows .row').count()).toBeGreaterThan(10);
    stop = await start();
    await until(async () => {
      await later(5_000);
      return (await page.getByText('Live', { exact: true }).count()) > 0;
    });
    queue.record({ id: 'new', name: 'brand.new', state: 'STARTED' });
    await page.getByRole('link', { name: 'brand.new' }).waitFor();
  });

  it('is live only while the stream sends something', async () => {
    const { queue, options } = createShop();
    let isSilent = false;
    const { page, later } = await visit(options, '#/tasks', {
      clock: true,
      host: {
        before: (app) =>
          void app.use('/monitor/api/events/latest', (request, _response, next) => {
            if (!isSilent || request.headers.accept !== 'text/event-stream') next();
          }),
      },
    });
    await page.getByText('Live', { exact: true }).waitFor();
    isSilent = true;
    // More than the time of two comments.
    await later(31_000);
    await page.getByText('Every 15 s', { exact: true }).waitFor();
    queue.record({ id: 'new', name: 'brand.new', state: 'STARTED' });
    await later(15_000);
    await page.getByRole('link', { name: 'brand.new' }).waitFor();
    expect(await page.getByText('Live', { exact: true }).count()).toBe(0);
  });

  it('polls where there is no feed, and keeps one question under way at most', async () => {
    const { queue } = createShop();
    let [now, most] = [0, 0];
    const { events: _, ...sources } = queue;
    const { page, later } = await visit({ sources }, '#/tasks', {
      ...{ expected: /501/, clock: true },
      host: {
        before: (app) =>
          void app.use('/monitor/api/tasks', (_request, response, next) => {
            now += 1;
            most = Math.max(most, now);
            response.on('close', () => {
              now -= 1;
            });
            // So slow that another question would come beside it.
            setTimeout(next, 50);
          }),
      },
    });
    await page.getByText('Every 15 s').waitFor();
    await page.getByText('23 tasks').waitFor();
    queue.record({ id: 'new', name: 'brand.new', state: 'STARTED' });
    await later(15_000);
    await page.getByRole('link', { name: 'brand.new' }).waitFor();
    // The list and the figures for its filters.
    expect(most).toBeLessThanOrEqual(2);
  });
});
