import { describe, expect, it } from 'vitest';
import { valuesBefore } from '../../src/dashboard/names/before-values.ts';
import { memorySources } from '../../src/memory.ts';
import type { TaskStatsBody } from '../../src/wire.ts';
import { EXPRESS_MAJORS } from '../helpers/hosts.ts';
import { serve, until } from '../router/host-kit.ts';
import { axeFinds } from './axe.ts';
import { browserMissing, browserTitle, type LookOptions, look } from './browser.ts';

const [major] = EXPRESS_MAJORS;
if (major === undefined) throw new Error('there is no Express');
const MINUTE = 60_000;
const OVERFLOW =
  'document.documentElement.scrollWidth - innerWidth + document.querySelector("main").scrollWidth - document.querySelector("main").clientWidth';

/** `orders.place` sends `payments.charge`, which fails and takes longer than an hour ago, and `mail.send`. */
function shop() {
  const queue = memorySources({ name: 'shop' });
  const now = Date.now();
  function run(id: string, name: string, minutes: number, more: object = {}, seconds = 1): void {
    const task = { id, name, queue: 'orders', worker: 'w1@h', ...more };
    const timestamp = now - minutes * MINUTE;
    queue.record({ ...task, state: 'STARTED', timestamp: timestamp - seconds * 1_000 });
    const isFailure = 'error' in more;
    queue.record({ ...task, state: isFailure ? 'FAILURE' : 'SUCCESS', timestamp, runtime: seconds });
  }
  for (let minute = 2; minute < 118; minute += 4) {
    run(`order-${minute}`, 'orders.place', minute);
    const error = Object.assign(new Error(`order ${minute}`), { name: 'CardDeclined' });
    const isFailure = minute < 20;
    const more = { parentId: `order-${minute}`, args: [minute], ...(isFailure && { error }) };
    run(`charge-${minute}`, 'payments.charge', minute, more, minute < 60 ? 4 : 1);
    run(`mail-${minute}`, 'mail.send', minute, { parentId: `charge-${minute}`, queue: 'mail' });
  }
  queue.record({ id: 'running', name: 'orders.place', queue: 'orders', worker: 'w1@h', state: 'STARTED' });
  queue.record({ id: 'waiting', name: 'orders.place', queue: 'orders', state: 'PENDING' });
  queue.recordWorker({ hostname: 'w1@h', queues: ['orders'], concurrency: 4, active: 1, interval: 3_600 });
  queue.recordWorker({ hostname: 'w2@h', queues: ['other'], concurrency: 4, active: 0, interval: 3_600 });
  const queues = {
    name: 'shop',
    listQueues: () => [
      {
        name: 'orders',
        waiting: 3,
        consumers: 2,
        oldestDueAt: new Date(now - 25 * MINUTE),
        asOf: new Date(),
      },
      { name: 'mail', waiting: 2, consumers: 0, oldestDueAt: null, asOf: new Date() },
    ],
  };
  return { ...queue, queues };
}

async function open(hash: string, more: LookOptions = {}) {
  const host = await serve(major as NonNullable<typeof major>, { sources: shop() });
  const view = await look(host.base, hash, more);
  await view.settled();
  return { ...host, ...view };
}

describe('the period before', () => {
  const stats = (values: readonly (number | null)[], step_seconds = 60) =>
    ({ step_seconds, series: values.map((failed) => ({ failed })) }) as unknown as TaskStatsBody;

  it('lies under this one, its last step under the last one', () => {
    expect(valuesBefore(stats([1, 2, 3]), stats([7, 8, 9, 10]), 'failed')).toEqual([8, 9, 10]);
    expect(valuesBefore(stats([1, 2, 3]), stats([8, null]), 'failed')).toEqual([null, 8, null]);
  });

  it('is not known where its steps have another length', () => {
    expect(valuesBefore(stats([1, 2]), stats([7, 8], 120), 'failed')).toEqual([null, null]);
  });
});

describe.skipIf(browserMissing)(browserTitle('in a browser, names'), () => {
  it('are listed against the period before, and sorted by their heads', async () => {
    const { page } = await open('#/');
    await page.getByRole('link', { name: 'All 3 ›' }).click();
    await page.getByRole('heading', { name: 'Names', level: 1 }).waitFor();
    const names = page.locator('table.named tbody th');
    await page.getByText('▲ 4.0×').waitFor();
    await page.getByRole('link', { name: 'Change' }).click();
    await until(async () => (await names.first().textContent()) === 'payments.charge');
    expect(page.url()).toContain('sort=change');
    expect(await page.locator('th[aria-sort=descending]').textContent()).toBe('Change ↓');
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'payments.charge' }).waitFor();
  });

  it('have a page with figures, charts, causes, callers and latest tasks', async () => {
    const { page } = await open('#/names/payments.charge');
    await page.getByText('▲ 4.0×').first().waitFor();
    const slider = page.getByRole('slider', { name: 'Run time of payments.charge', exact: true });
    await slider.press('End');
    await until(async () => {
      await slider.press('ArrowLeft');
      const text = (await slider.getAttribute('aria-valuetext')) ?? '';
      return /4\.0 s p95,.* 1\.0 s p95 before/.test(text);
    });
    expect(await page.locator('.line-dashed').count()).toBe(4);
    const callers = page.getByRole('region', { name: 'Callers' });
    expect(await callers.getByRole('list').allTextContents()).toEqual(['orders.place15', 'mail.send15']);
    await page.getByRole('region', { name: 'Latest tasks' }).getByText('CardDeclined: order 2').waitFor();
    await page.getByRole('link', { name: /^CardDeclined/ }).click();
    await page.getByRole('heading', { name: 'CardDeclined' }).waitFor();
    await page.goBack();
    await callers.getByRole('link', { name: 'mail.send' }).click();
    await page.getByRole('heading', { name: 'mail.send' }).waitFor();
    await callers.getByRole('link', { name: 'payments.charge' }).waitFor();
    await page.getByText('It sends no task of a known name.').waitFor();
  });

  it('lead to a queue, with its workers and what runs and waits in it', async () => {
    const { page } = await open('#/queues');
    await page.getByRole('link', { name: 'orders' }).click();
    await page.getByRole('heading', { name: 'orders' }).waitFor();
    const workers = page.getByRole('region', { name: 'Workers' });
    expect(await workers.getByRole('link').allTextContents()).toEqual(['w1@h']);
    for (const [title, rows] of [
      ['Running', 1],
      ['Waiting', 1],
      ['Latest tasks', 10],
    ] as const) {
      const table = page.getByRole('region', { name: title, exact: true });
      await table.waitFor();
      expect([title, await table.locator('tbody tr').count()]).toEqual([title, rows]);
    }
    await workers.getByRole('link').click();
    await page.getByRole('heading', { name: 'w1@h', level: 1 }).waitFor();
  });

  it.each(['light', 'dark'] as const)(
    'fit a phone and a desktop in %s, with nothing for axe to find',
    { timeout: 120_000 },
    async (colorScheme) => {
      for (const [width, height] of [
        [1440, 900],
        [390, 844],
      ] as const) {
        for (const hash of ['#/names', '#/names/payments.charge', '#/queues', '#/queues/orders']) {
          const size = { viewport: { width, height }, colorScheme, bypassCSP: true };
          const { page } = await open(hash, size);
          const shots = process.env.SCREENSHOTS;
          if (shots !== undefined) {
            const name = `${hash.replace(/\W+/g, '-')}-${width}-${colorScheme}.png`;
            await page.screenshot({ path: `${shots}/${name}`, fullPage: true });
          }
          expect([hash, await page.evaluate(OVERFLOW)]).toEqual([hash, 0]);
          expect([hash, await axeFinds(page)]).toEqual([hash, []]);
        }
      }
    },
  );
});
