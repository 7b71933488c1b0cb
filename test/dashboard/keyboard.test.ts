import type { Page } from 'playwright-core';
import { describe, it } from 'vitest';
import { until } from '../router/host-kit.ts';
import { browserMissing, browserTitle } from './browser.ts';
import { DESKTOP, openStill, PHONE, walkStops } from './stops.ts';

const hasFocus = (page: Page, label: string): Promise<boolean> =>
  page.evaluate(`document.activeElement?.getAttribute('aria-label') === ${JSON.stringify(label)}`);

describe.skipIf(browserMissing)(browserTitle('in a browser, by keys alone,'), () => {
  // `stops.test.ts` goes through all views, on a desktop, too.
  it.each(['#/', '#/tasks'])(
    'every stop of %s is seen and marked on a phone, and nothing moves',
    async (hash) => {
      const { page } = await openStill(hash, PHONE);
      await walkStops(page, hash);
    },
  );

  it.each([DESKTOP, PHONE])('the focus returns from panels and dialogs, in %j', async (size) => {
    const { page } = await openStill('#/tasks', size);
    for (const [name, label] of [
      [/^Time/, 'Time: Any time'],
      [/^More/, 'More'],
    ] as const) {
      await page.getByRole('button', { name }).focus();
      await page.keyboard.press('Enter');
      await page.locator(':popover-open').locator('a, button').first().waitFor();
      await page.keyboard.press('Tab');
      await page.keyboard.press('Escape');
      await page.locator(':popover-open').waitFor({ state: 'hidden' });
      await until(() => hasFocus(page, label));
    }
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard' }).waitFor();
    await page.keyboard.press('Escape');
    await until(() => hasFocus(page, 'More'));
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Keyboard' }).press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Keyboard' });
    await dialog.getByRole('button', { name: 'Close' }).press('Enter');
    await dialog.waitFor({ state: 'detached' });
    await until(() => hasFocus(page, 'More'));
  });
});
