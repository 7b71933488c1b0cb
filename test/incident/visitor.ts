/** Somebody who answers questions with the page: every click is counted, and the time until the answer is there. */
import type { Locator, Page } from 'playwright-core';

/** What an answer took. */
export interface Effort {
  readonly question: string;
  /** Clicks, taps and presses of Enter. */
  readonly clicks: number;
  /** From the open overview to the answer, by a script that need not read. */
  readonly seconds: number;
  readonly answer: string;
}

/** Uses the page as people do. */
export interface Visitor {
  readonly page: Page;
  readonly isPhone: boolean;
  click(target: Locator): Promise<void>;
  /** Types into the search and presses Enter. */
  search(text: string): Promise<void>;
  /** Opens a view of the navigation; on a phone the last ones are behind "More". */
  open(title: string): Promise<void>;
  clicks(): number;
}

export function createVisitor(page: Page): Visitor {
  const isPhone = (page.viewportSize()?.width ?? 0) < 760;
  let clicks = 0;

  async function click(target: Locator): Promise<void> {
    clicks += 1;
    await target.first().click();
  }

  return {
    page,
    isPhone,
    click,
    async search(text) {
      if (isPhone) await click(page.getByRole('button', { name: 'Find tasks' }));
      else await page.keyboard.press('/');
      await page.locator('[role=combobox]:focus').waitFor();
      await page.keyboard.type(text);
      clicks += 1;
      await page.keyboard.press('Enter');
    },
    async open(title) {
      const entry = page
        .getByRole('navigation', { name: 'Views' })
        .getByRole('link', { name: title, exact: true });
      if (isPhone && (await entry.count()) === 0) await click(page.getByRole('button', { name: 'More' }));
      await click(page.getByRole('link', { name: title, exact: true }));
    },
    clicks: () => clicks,
  };
}
