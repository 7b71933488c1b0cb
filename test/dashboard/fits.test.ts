import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { until } from '../router/host-kit.ts';
import { browserMissing, browserTitle, DESKTOP, loadedSearch, PHONE, visit } from './browser.ts';
import { createShop } from './shop.ts';

const LONG = 'warehouse.billing.invoices.importers.quarterly.render_and_send_all_documents_of_every_customer';

async function open(hash: string, options: object, extra = 0) {
  const shop = createShop(extra);
  const now = Date.now();
  shop.run('long', LONG, { args: [1] }, 'SUCCESS', now - 754_000);
  const hint = 'Set `worker_send_task_events = True` in its settings.';
  const sources = {
    ...shop.queue,
    components: {
      name: 'shop',
      listComponents: () => [
        {
          key: 'broker',
          name: 'Broker',
          enabled: true,
          status: 'up' as const,
          url: null,
          config: { hints: [hint] },
        },
      ],
    },
  };
  const view = await visit({ sources }, hash, options);
  await view.settled();
  return { ...shop, ...view, hint, now };
}

/** Texts of the elements that do not have the room that they need. */
const cutOff = (page: Page, selector: string): Promise<unknown> =>
  page.evaluate(
    `[...document.querySelectorAll(${JSON.stringify(selector)})].filter((cell) => cell.scrollWidth > cell.clientWidth).map((cell) => cell.textContent)`,
  );

/** Texts of the elements that are not wholly on the screen from left to right. */
const outside = (page: Page, selector: string): Promise<unknown> =>
  page.evaluate(
    `[...document.querySelectorAll(${JSON.stringify(selector)})].filter((cell) => { const { left, right } = cell.getBoundingClientRect(); return left < 0 || right > innerWidth; }).map((cell) => cell.textContent)`,
  );

describe.skipIf(browserMissing)(browserTitle('in a browser, what people read fits'), () => {
  it('the columns of the list at 1440 px, that of times included', async () => {
    const { page } = await open('#/tasks', DESKTOP);
    const when = page.locator('.rows .row', { hasText: LONG }).locator('.c-when');
    await when.getByText(/^\d\d min$/).waitFor();
    expect(await cutOff(page, '.rows .c-when, .rows .c-ran, .rows .c-wait, .rows .c-state')).toEqual([]);
  });

  it.each([
    [DESKTOP, 'rtl'],
    [PHONE, 'ltr'],
  ] as const)('the columns of names beside a long one, in %j', async (size, direction) => {
    const { page } = await open('#/', size);
    const table = page.locator('table.named');
    await table.getByText(LONG).waitFor();
    expect(await outside(page, 'table.named td.num, table.named thead th.num')).toEqual([]);
    if (size === PHONE) expect(await cutOff(page, 'table.named .cut')).toEqual([]);
    expect(await page.evaluate("getComputedStyle(document.querySelector('.named .cut')).direction")).toBe(
      direction,
    );
  });

  it('the error or the arguments of each row on a phone', async () => {
    const { page } = await open('#/tasks', PHONE);
    await page.locator('.rows .row', { hasText: 'FAILURE' }).getByText('CardError: card declined').waitFor();
    await page.getByText('[1]', { exact: true }).first().waitFor();
    expect(await outside(page, '.rows .c-args, .rows .c-when')).toEqual([]);
  });

  it('filters on a phone, in a sheet that holds the focus until it is closed', async () => {
    const { page } = await open('#/tasks?state=FAILURE', PHONE);
    const button = (count: number) => page.getByRole('button', { name: `Filter (${count})` });
    const sheet = page.getByRole('dialog', { name: 'Filter' });
    expect(await page.getByLabel('Queue').count()).toBe(0);
    await button(1).click();
    await sheet.getByLabel('Queue').selectOption('orders');
    await until(() => page.url().endsWith('#/tasks?state=FAILURE&queue=orders'));
    await sheet.getByRole('button', { name: 'Show 1 task', exact: true }).waitFor();
    const { y = 0, height = 0 } = (await sheet.boundingBox()) ?? {};
    expect(Math.round(y + height)).toBe(PHONE.viewport.height);
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
    for (let press = 0; press < 20; press += 1) {
      await page.keyboard.press('Tab');
      expect(
        await page.evaluate(
          '[document.body, null].includes(document.activeElement) || document.activeElement.closest("dialog") !== null',
        ),
      ).toBe(true);
    }
    await sheet.getByRole('link', { name: 'state:FAILURE' }).click();
    await until(() => page.url().endsWith('#/tasks?queue=orders'));
    await page.keyboard.press('Escape');
    await sheet.waitFor({ state: 'detached' });
    await until(() => button(1).evaluate((element) => element === element.ownerDocument.activeElement));
    await button(1).click();
    await sheet.waitFor();
    await page.mouse.click(200, 20);
    await sheet.waitFor({ state: 'detached' });
  });

  it('schedules on a phone', async () => {
    const { page } = await open('#/schedules', PHONE);
    await page.getByText('Nightly report').waitFor();
    await page.getByText(/^in 59 min/).waitFor();
    expect(await outside(page, 'table.schedules th, table.schedules td')).toEqual([]);
    expect(await cutOff(page, '.table-scroll')).toEqual([]);
  });

  it('the times of a period, in the chosen zone', async () => {
    const period = 'since=2026-01-02T03:04:00Z&until=2026-01-02T04:04:00Z';
    const { page } = await open(`#/tasks?${period}`, { ...DESKTOP, timezoneId: 'Asia/Tokyo' });
    await page.getByRole('button', { name: 'Time: 2026-01-02 12:04 – 2026-01-02 13:04' }).click();
    expect(await page.getByLabel('From').inputValue()).toBe('2026-01-02T12:04');
    await page.keyboard.press('Escape');
    await page.keyboard.press('u');
    await page.getByRole('button', { name: 'Time: 2026-01-02 03:04 – 2026-01-02 04:04' }).click();
    await until(async () => (await page.getByLabel('From (UTC)').inputValue()) === '2026-01-02T03:04');
  });

  it('a hint can be dismissed, and asked for again', async () => {
    const { page, go, hint } = await open('#/', DESKTOP);
    await page.getByRole('button', { name: `Dismiss: ${hint}` }).click();
    expect(await page.getByText(hint).count()).toBe(0);
    await page.reload();
    await page.getByText('Workers 1/1').waitFor();
    await page.getByRole('region', { name: 'Verdict' }).waitFor();
    expect(await page.getByText(hint).count()).toBe(0);
    await go('#/system');
    await page.getByText(hint).waitFor();
    await page.getByRole('button', { name: 'Show on the overview' }).click();
    await go('#/');
    await page.getByText(hint).waitFor();
  });

  it('what was found, marked in its row', async () => {
    const { page } = await open('#/tasks?q=DECLINED', PHONE);
    expect(await page.locator('.rows mark').allTextContents()).toEqual(['declined']);
    await (await loadedSearch(page)).fill('paid');
    await page.locator('.rows .match-field').getByText('result').first().waitFor();
    await until(async () => (await page.locator('.rows mark').first().textContent()) === 'paid');
    await page.getByLabel('Search').fill('charge-2 DECLINED card payments');
    await page.getByText('1 task', { exact: true }).waitFor();
    expect((await page.locator('.rows mark').allTextContents()).toSorted()).toEqual([
      'Card',
      'card',
      'charge-2',
      'declined',
      'payments',
    ]);
  });
});
