import axe from 'axe-core';
import type { Page } from 'playwright-core';

/** What axe finds that is serious: each rule with the elements that break it. The page must bypass its policy. */
export async function axeFinds(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  return page.evaluate(
    `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => id + ': ' + nodes.slice(0, 3).map(({ html }) => html).join(' ')))`,
  );
}
