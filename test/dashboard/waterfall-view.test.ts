import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { until } from '../router/host-kit.ts';
import { browserMissing, browserTitle, type LookOptions, PHONE, visit } from './browser.ts';
import { createOrder, LONG } from './order-shop.ts';

async function open(hash: string, options: LookOptions = {}, rows = 40) {
  const order = createOrder(rows);
  const view = await visit(order.options, hash, options);
  await view.page.locator('.wf-row').first().waitFor();
  // Keys work from the next frame on.
  await view.settled();
  return { ...order, ...view };
}

const names = (page: Page): Promise<string[]> =>
  page
    .locator('.wf-row')
    .evaluateAll((rows) =>
      rows
        .toSorted((one, other) => Number(one.ariaRowIndex) - Number(other.ariaRowIndex))
        .map((row) => row.querySelector('.wf-link')?.textContent ?? ''),
    );
const active = (page: Page) => page.locator('.wf-row[data-active] .wf-link').textContent();

describe.skipIf(browserMissing)(browserTitle('in a browser, the waterfall of a workflow'), () => {
  it('begins with the root cause, and tells what the workflow came to', async () => {
    const { page } = await open('#/workflow/late');
    expect(await page.locator('#view-title').textContent()).toBe('orders.place');
    expect(await page.locator('.wf-totals').textContent()).toMatch(/44 tasks, 2 failed, 1 never ran$/);
    const cause = page.getByRole('region', { name: 'Root cause' });
    expect(await cause.textContent()).toContain('CardDeclined: insufficient funds');
    await cause.getByRole('link', { name: 'payments.charge' }).waitFor();
    expect(await names(page)).toEqual([
      'orders.place',
      'payments.charge',
      'import.row',
      'body of the chord',
      LONG,
    ]);
    expect(await active(page)).toBe('payments.charge');
    expect(await page.locator('.wf-is-cause').textContent()).toContain('root cause');
    expect(await page.locator('.wf-is-asked .wf-link').textContent()).toBe(LONG);
    await page.locator('.wf-fold').getByText('1 failed', { exact: true }).waitFor();
    await page.locator('.wf-faded').getByText('never ran').first().waitFor();
    // Nothing ran for nine minutes.
    await page.locator('.wf-pause').getByText('8 min idle').waitFor();
  });

  it('is used by keys alone', async () => {
    const { page } = await open('#/workflow/order');
    for (const [key, expected] of [
      ['j', 'import.row'],
      ['k', 'payments.charge'],
      ['ArrowLeft', 'orders.place'],
      ['ArrowRight', 'payments.charge'],
    ] as const) {
      await page.keyboard.press(key);
      await until(async () => (await active(page)) === expected);
    }
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await until(async () => (await names(page)).filter((name) => name === 'import.row').length > 5);
    await page.keyboard.press('End');
    await page.getByRole('row', { name: /19 more/ }).focus();
    await page.keyboard.press('Enter');
    // With the head: order, payment, fold, 40 rows, chord, and the late one.
    await until(async () => (await page.getByRole('treegrid').getAttribute('aria-rowcount')) === '46');
    await page.keyboard.press('w');
    await until(async () => (await names(page)).join() === 'orders.place');
    await page.keyboard.press('e');
    await until(async () => (await names(page)).length > 5);
    await page.keyboard.press('f');
    await until(async () => (await names(page)).join() === 'orders.place,payments.charge,import.row');
    expect(page.url()).toContain('failed=1');
    await page.keyboard.press('f');
    await page.keyboard.press('w');
    await page.getByRole('button', { name: 'Show it below' }).click();
    await page.locator('.wf-is-cause:focus').waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'payments.charge' }).waitFor();
  });

  it('shows names whole wherever they are pointed at, and cuts them in the middle elsewhere', async () => {
    const { page } = await open('#/workflow/order');
    const row = page.locator('.wf-row', { hasText: LONG });
    expect(await row.locator('.wf-link').textContent()).toBe(LONG);
    const splitter = page.getByRole('separator', { name: 'Width of the names' });
    await splitter.focus();
    await page.keyboard.press('Home');
    expect(await splitter.getAttribute('aria-valuenow')).toBe('15');
    const isCut = () => row.locator('.wf-start').evaluate((text) => text.scrollWidth > text.clientWidth);
    const end = () => row.locator('.wf-end').evaluate((text) => text.scrollWidth - text.clientWidth);
    expect([await isCut(), await end()]).toEqual([true, 0]);
    await row.hover();
    expect(await isCut()).toBe(false);
    const box = await splitter.boundingBox();
    if (box === null) throw new Error('the splitter has no place');
    await page.mouse.move(box.x + 4, box.y + 50);
    await page.mouse.down();
    await page.mouse.move(box.x + 400, box.y + 50);
    await page.mouse.up();
    await until(async () => Number(await splitter.getAttribute('aria-valuenow')) > 40);
  });

  it('puts names above the bars on a phone', async () => {
    const { page, sideways } = await open('#/workflow/order', PHONE);
    const name = await page.locator('.wf-is-cause .wf-link').boundingBox();
    const bar = await page.locator('.wf-is-cause .wf-run').boundingBox();
    if (name === null || bar === null) throw new Error('there is nothing to see');
    expect(name.y + name.height).toBeLessThanOrEqual(bar.y);
    const heights = await page.locator('.wf-row').evaluateAll((rows) => rows.map((row) => row.clientHeight));
    expect(Math.min(...heights)).toBeGreaterThanOrEqual(44);
    expect(await sideways()).toBe(0);
  });

  it('follows what happens', async () => {
    const { page, queue } = await open('#/workflow/order');
    const task = { id: 'next', name: 'mail.send', parentId: 'order', rootId: 'order', worker: 'w1@host' };
    queue.record({ ...task, state: 'PENDING', timestamp: Date.now() - 5_000 });
    const row = page.getByRole('row', { name: /mail\.send/ });
    await row.getByText(/^waits \d/).waitFor();
    queue.record({ ...task, state: 'STARTED', timestamp: Date.now() - 3_000 });
    // It grows with the clock.
    await row.getByText(/^[4-9](\.\d)? s$/).waitFor();
    queue.record({ ...task, state: 'SUCCESS', timestamp: Date.now() });
    await page.getByText('45 tasks, 2 failed, 1 never ran').waitFor();
  });

  it('keeps few rows in the document, however many tasks there are', async () => {
    const { page } = await open('#/workflow/order', {}, 400);
    await page.keyboard.press('e');
    for (let count = 0; count < 3; count += 1) {
      const more = page.getByRole('row', { name: /50 more/ });
      // The last row is another one once the rows before have been added.
      await until(async () => {
        await page.keyboard.press('End');
        return (await more.count()) > 0;
      });
      await more.click();
    }
    const { rows, visible } = (await page.evaluate(
      "({ rows: document.querySelectorAll('.wf-row').length, visible: Math.ceil(document.querySelector('.wf-scroller').clientHeight / 28) })",
    )) as { rows: number; visible: number };
    expect(rows).toBeLessThanOrEqual(visible + 13);
    expect(Number(await page.getByRole('treegrid').getAttribute('aria-rowcount'))).toBeGreaterThan(150);
  });

  it('is not there for a task that is alone', async () => {
    const { queue, options } = createOrder();
    queue.record({ id: 'alone', name: 'mail.digest', state: 'SUCCESS' });
    const { page } = await visit(options, '#/workflow/alone');
    await page.getByText('Not part of a workflow').waitFor();
    expect(await page.getByRole('treegrid').count()).toBe(0);
  });
});
