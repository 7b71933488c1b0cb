/** Where the key Tab stops in a view. */
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { EXPRESS_MAJORS } from '../helpers/hosts.ts';
import { serve } from '../router/host-kit.ts';
import { type Look, look } from './browser.ts';
import { createShop } from './shop.ts';

const [major] = EXPRESS_MAJORS;
export const DESKTOP = { width: 1_440, height: 900 };
export const PHONE = { width: 390, height: 844 };
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

/** Opens a view for somebody who does not want anything to move. */
export async function openStill(hash: string, viewport: typeof PHONE): Promise<Look> {
  if (major === undefined) throw new Error('there is no Express');
  const { base } = await serve(major, createShop().options);
  const view = await look(base, hash, { viewport, expected: /404/, reducedMotion: 'reduce' });
  await view.settled();
  return view;
}

/** Goes from stop to stop: each is on the screen and marked, and nothing moves. */
export async function walkStops(page: Page, hash: string): Promise<void> {
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
