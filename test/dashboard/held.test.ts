import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { until } from '../router/host-kit.ts';
import { browserMissing, browserTitle, visit } from './browser.ts';
import { receivedBytes } from './network.ts';
import { createShop } from './shop.ts';

/** Name and place of each row. */
const placesOf = (page: Page): Promise<unknown> =>
  page.evaluate(
    "[...document.querySelectorAll('.rows .row')].map((row) => [row.querySelector('.c-name a').textContent, row.querySelector('.c-args').title, row.getBoundingClientRect().top])",
  );

const open = async (extra: number, options = {}) => {
  const shop = createShop(extra);
  const view = await visit(shop.options, '#/tasks', options);
  await view.page.getByText('Live', { exact: true }).waitFor();
  await view.page.locator('.rows .row').first().waitFor();
  await view.settled();
  return { ...shop, ...view };
};

describe.skipIf(browserMissing)(browserTitle('in a browser, the rows of the list'), () => {
  it('stay where they are under the pointer, show what becomes of them, and count what is new', async () => {
    const { queue, page } = await open(0);
    queue.record({ id: 'open', name: 'open.task', state: 'STARTED' });
    await page.getByRole('link', { name: 'open.task' }).waitFor();
    await page.locator('.rows .row').nth(3).hover();
    const before = await placesOf(page);
    for (let index = 0; index < 12; index += 1) {
      queue.record({ id: `new-${index}`, name: 'brand.new', state: 'STARTED' });
    }
    await page.getByText('Held · 12 new', { exact: true }).waitFor();
    queue.record({ id: 'open', name: 'open.task', state: 'SUCCESS', result: 1 });
    await page.locator('.rows .row', { hasText: 'open.task' }).getByText('SUCCESS').waitFor();
    expect(await placesOf(page)).toEqual(before);
    expect(await page.getByRole('link', { name: 'brand.new' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Held · 12 new' }).click();
    await until(async () => (await page.getByRole('link', { name: 'brand.new' }).count()) === 12);
    await page.getByText('12 new').waitFor({ state: 'hidden' });
    // They move again when the pointer has left, but not on its way to the button.
    await page.locator('.rows .row').nth(2).hover();
    queue.record({ id: 'next', name: 'next.new', state: 'STARTED' });
    await page.getByText('Held · 1 new', { exact: true }).waitFor();
    await page.mouse.move(5, 5);
    await page.getByRole('link', { name: 'next.new' }).waitFor();
    await page.getByText('1 new').waitFor({ state: 'hidden' });
  });

  it('stay where they are while somebody has scrolled, and while one has the focus', async () => {
    const { queue, page } = await open(300);
    await page.evaluate("document.querySelector('.scroller').scrollTo(0, 340)");
    await until(async () => (await page.locator('.rows .row').count()) > 30);
    const before = await placesOf(page);
    queue.record({ id: 'new-1', name: 'brand.new', state: 'STARTED' });
    await page.getByText('Held · 1 new', { exact: true }).waitFor();
    expect(await placesOf(page)).toEqual(before);
    await page.getByRole('button', { name: 'Held · 1 new' }).click();
    await page.getByRole('link', { name: 'brand.new' }).waitFor();
    await page.keyboard.press('Tab');
    await page.locator('.rows .row').nth(4).locator('a').focus();
    queue.record({ id: 'new-2', name: 'other.new', state: 'STARTED' });
    await page.getByText('Held · 1 new', { exact: true }).waitFor();
    expect(await page.getByRole('link', { name: 'other.new' }).count()).toBe(0);
  });

  it('are reached by j and k wherever the focus is', async () => {
    const { page } = await open(0);
    const focused = () => page.evaluate("document.activeElement.closest('.row')?.ariaRowIndex ?? null");
    await page.keyboard.press('j');
    await until(async () => (await focused()) === '2');
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await until(async () => (await focused()) === '4');
    await page.keyboard.press('k');
    await until(async () => (await focused()) === '3');
    await page.getByLabel('Search').click();
    await page.keyboard.type('jk');
    expect(await page.getByLabel('Search').inputValue()).toBe('jk');
  });

  it('cost little to keep up with however many events', async () => {
    const { queue, page } = await open(1_000);
    const bytes = await receivedBytes(page);
    const [rounds, events] = [3, 200];
    // The page hears of news once a second: a round is what it hears at once, about a second's events.
    for (let round = 0; round < rounds; round += 1) {
      for (let index = 0; index < events; index += 1) {
        const id = `0198c2a4-5e6f-7abc-8def-${String(round * events + Math.floor(index / 3)).padStart(12, '0')}`;
        const state = ['RECEIVED', 'STARTED', 'SUCCESS'][index % 3] ?? '';
        queue.record({ id, state, name: 'shop.orders.place', worker: 'celery@one', queue: 'a' });
      }
      // Above all others, also those of the same millisecond.
      const timestamp = Date.now() + 20;
      queue.record({ id: `last-${round}`, name: `last.of.${round}`, state: 'STARTED', timestamp });
      await page.getByRole('link', { name: `last.of.${round}` }).waitFor();
    }
    const perRound = bytes() / rounds / 1_000;
    // 10 kB is the aim.
    expect(perRound).toBeLessThan(100);
    expect(perRound).toBeGreaterThan(0.5);
  });
});
