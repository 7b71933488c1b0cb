/** Every view by keys alone, on a desktop and on a phone. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { until } from '../router/host-kit.ts';
import { browserMissing, browserTitle, DESKTOP, PHONE, visit } from './browser.ts';
import { createShop } from './shop.ts';
import { VIEWS, walk } from './views.ts';

/** More stops than any of these views has. */
const MOST_STOPS = 150;

/** What has the focus: its text, whether it is on the screen, and whether it can be told. `null`: the page itself. */
const focused = (page: Page): Promise<{ text: string; isSeen: boolean; isMarked: boolean } | null> =>
  page.evaluate(`(() => {
    const element = document.activeElement;
    if (element === null || element === document.body) return null;
    const { left, top, right, bottom, width, height } = element.getBoundingClientRect();
    const isInside = right > 0 && left < innerWidth && bottom > 0 && top < innerHeight;
    const { outlineStyle, outlineWidth } = getComputedStyle(element);
    // A node of the graph is marked by the line around its box.
    const box = element.querySelector(':scope > rect');
    const isBoxMarked = box !== null && parseFloat(getComputedStyle(box).strokeWidth) >= 3;
    return {
      text: element.outerHTML.slice(0, 120),
      isSeen: isInside && width > 0 && height > 0 && element.checkVisibility({ visibilityProperty: true }),
      isMarked: isBoxMarked || (outlineStyle !== 'none' && parseFloat(outlineWidth) >= 1),
    };
  })()`);

/** Goes from stop to stop: each is on the screen and marked, and nothing moves. */
async function walkStops(page: Page, hash: string): Promise<void> {
  expect([hash, await page.evaluate('document.getAnimations().length')]).toEqual([hash, 0]);
  await page.getByRole('button', { name: 'Skip to content' }).focus();
  let stops = 0;
  for (; stops < MOST_STOPS; stops += 1) {
    await page.keyboard.press('Tab');
    const stop = await focused(page);
    // Behind the last one the page itself has the focus, and then the first one again.
    if (stop === null) break;
    expect([hash, stop]).toEqual([hash, { text: stop.text, isSeen: true, isMarked: true }]);
  }
  expect([hash, stops > 8 && stops < MOST_STOPS]).toEqual([hash, true]);
}

const hasFocus = (page: Page, label: string): Promise<boolean> =>
  page.evaluate(`document.activeElement?.getAttribute('aria-label') === ${JSON.stringify(label)}`);

/** A page for somebody who does not want anything to move. */
const openStill = (hash: string, size: object) =>
  visit(createShop().options, hash, { ...size, expected: /404/, reducedMotion: 'reduce' });

describe.skipIf(browserMissing)(browserTitle('in a browser, by keys alone,'), () => {
  it.each([DESKTOP, PHONE])(
    'every stop of every view is seen and marked, and nothing moves, in %j',
    async (size) => {
      const view = await openStill('#/', size);
      const hashes = VIEWS.map(({ hash }) => hash);
      await walk(view, hashes, (hash) => walkStops(view.page, hash));
    },
    600_000,
  );

  it.each([DESKTOP, PHONE])('the focus returns from panels and dialogs, in %j', async (size) => {
    const { page, settled } = await openStill('#/tasks', size);
    await settled();
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
