import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { EXPRESS_MAJORS } from '../helpers/hosts.ts';
import { serve, until } from '../router/host-kit.ts';
import { browserMissing, browserTitle, look } from './browser.ts';
import { createShop, ids } from './shop.ts';

const [major] = EXPRESS_MAJORS;
if (major === undefined) throw new Error('there is no Express');

const VIEWS = [
  ...['#/', '#/failures', '#/tasks', `#/tasks/${ids.failed}`, `#/workflow/${ids.root}`],
  ...['#/queues', '#/queues/orders', '#/names/payments.charge', '#/workers', '#/schedules', '#/system'],
];
const SIZES = [
  { width: 1_440, height: 900 },
  { width: 390, height: 844 },
];
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
    return {
      text: element.outerHTML.slice(0, 120),
      isSeen: isInside && width > 0 && height > 0 && element.checkVisibility({ visibilityProperty: true }),
      isMarked: outlineStyle !== 'none' && parseFloat(outlineWidth) >= 1,
    };
  })()`);

const hasFocus = (page: Page, label: string): Promise<boolean> =>
  page.evaluate(`document.activeElement?.getAttribute('aria-label') === ${JSON.stringify(label)}`);

async function open(hash: string, viewport: (typeof SIZES)[number]) {
  const { base } = await serve(major as NonNullable<typeof major>, createShop().options);
  const view = await look(base, hash, { viewport, expected: /404/, reducedMotion: 'reduce' });
  await view.settled();
  return view;
}

describe.skipIf(browserMissing)(browserTitle('in a browser, by keys alone,'), () => {
  it.each(SIZES)('every stop of every view is seen and marked, in %j', { timeout: 120_000 }, async (size) => {
    const { page, go, settled } = await open('#/', size);
    for (const hash of VIEWS) {
      await go(hash);
      await settled();
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
  });

  it.each(SIZES)('the focus returns from panels and dialogs, in %j', async (size) => {
    const { page } = await open('#/tasks', size);
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

  it('nothing moves for those who want none of it', async () => {
    const { page, go, settled } = await open('#/', { width: 1_440, height: 900 });
    for (const hash of VIEWS) {
      await go(hash);
      await settled();
      expect([hash, await page.evaluate('document.getAnimations().length')]).toEqual([hash, 0]);
    }
  });
});
