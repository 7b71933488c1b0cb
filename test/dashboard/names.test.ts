import { describe, expect, it } from 'vitest';
import { memorySources } from '../../src/memory.ts';
import { until } from '../router/host-kit.ts';
import { browserMissing, browserTitle, type LookOptions, visit } from './browser.ts';
import { createNamesShop } from './names-shop.ts';

async function open(hash: string, more: LookOptions = {}) {
  const view = await visit({ sources: createNamesShop() }, hash, more);
  await view.settled();
  return view;
}

describe.skipIf(browserMissing)(browserTitle('in a browser, names'), () => {
  it('are listed against the period before, and sorted by their heads', async () => {
    const { page } = await open('#/');
    await page.getByRole('link', { name: 'All 3 ›' }).click();
    await page.getByRole('heading', { name: 'Names', level: 1 }).waitFor();
    const names = page.locator('table.named tbody th');
    await page.getByText('▲ 4.0×').waitFor();
    await page.getByRole('link', { name: 'Last failure' }).click();
    await until(async () => (await names.first().textContent()) === 'payments.charge');
    expect(await page.locator('.named tbody tr').first().locator('time').textContent()).toMatch(
      /^\d+ \w+$|^now$/,
    );
    expect(await page.locator('.named time').count()).toBe(1);
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
    expect(await page.locator('.line-dashed').count()).toBe(1);
    await page.getByText('WaitNot recorded in this period.').waitFor();
    const callers = page.getByRole('region', { name: 'Callers' });
    expect(await callers.getByRole('list').allTextContents()).toEqual(['orders.place15', 'mail.send15']);
    await page.getByRole('region', { name: 'Latest tasks' }).getByText('CardDeclined: order 2').waitFor();
    await page.getByRole('link', { name: /^CardDeclined/ }).click();
    await page.getByRole('heading', { name: 'CardDeclined' }).waitFor();
    await page.goBack();
    await callers.getByRole('link', { name: 'mail.send' }).click();
    await page.getByRole('heading', { name: 'mail.send' }).waitFor();
    await callers.getByRole('link', { name: 'payments.charge' }).waitFor();
    await page.getByText('It sends no tasks with a known name.').waitFor();
  });

  it('and causes show a period of several days, beside their latest tasks', async () => {
    // A request that is answered with an error fails the test.
    const { page } = await open('#/names/payments.charge?range=7d');
    const latest = page.locator('.latest tbody tr');
    // The hours before the first one that is known as a whole make the counts minimums.
    await page.getByText('Not all of this period is known').waitFor();
    await page.locator('.tiles', { hasText: '≥ 24' }).waitFor();
    await until(async () => (await latest.count()) === 10);
    await page.getByRole('link', { name: /^CardDeclined/ }).click();
    await page.getByRole('heading', { name: 'CardDeclined' }).waitFor();
    await page.locator('.cause-facts').getByText('5 failed').waitFor();
    await until(async () => (await latest.count()) === 5);
  });

  it('lead to a queue, with its workers and what runs and waits in it', async () => {
    const { page } = await open('#/queues');
    await page.getByRole('link', { name: 'orders' }).click();
    await page.getByRole('heading', { name: 'orders' }).waitFor();
    const workers = page.getByRole('region', { name: 'Workers' });
    await until(async () => (await workers.getByRole('link').allTextContents()).join() === 'w1@h');
    for (const [title, rows] of [
      ['Running', 1],
      ['Still to run', 1],
      ['Ended', 10],
    ] as const) {
      const table = page.getByRole('region', { name: title, exact: true });
      await table.waitFor();
      expect([title, await table.locator('tbody tr').count()]).toEqual([title, rows]);
    }
    await workers.getByRole('link').click();
    await page.getByRole('heading', { name: 'w1@h', level: 1 }).waitFor();
  });

  it('say of a queue that is read no more how long its first task has waited by now', async () => {
    const queue = memorySources({ name: 'shop' });
    const since = Date.now() - 10 * 60_000;
    const task = { name: 'mail.send', queue: 'mail', state: 'PENDING' as const };
    queue.record({ ...task, id: 'first', timestamp: since });
    queue.record({ ...task, id: 'second', timestamp: since + 60_000 });
    queue.recordQueue({ queue: 'mail', waiting: 2, oldestDueAt: since });
    const { page, later } = await visit({ sources: queue }, '#/queues/mail', { clock: true });
    const oldest = page.locator('.tiles div', { hasText: 'Oldest due' });
    await oldest.getByText(/^10 min/).waitFor();
    const links = page.getByRole('region', { name: 'Still to run' }).locator('tbody th a');
    await links.first().waitFor();
    expect(await links.evaluateAll((all) => all.map((link) => link.getAttribute('href')))).toEqual([
      expect.stringContaining('first'),
      expect.stringContaining('second'),
    ]);
    await later(5 * 60_000);
    // A step does not say when in it the queue was read.
    await oldest.getByText(/^1[45] min/).waitFor();
  });
});
