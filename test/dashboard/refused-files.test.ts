import { describe, expect, it } from 'vitest';
import { memorySources } from '../../src/memory.ts';
import { browserMissing, browserTitle, visit } from './browser.ts';

describe.skipIf(browserMissing)(browserTitle('a file of the page'), () => {
  it.each([429, 503])(
    'that is refused with %i is loaded once the server has capacity again',
    async (status) => {
      let refused = 0;
      const { page, go } = await visit({ sources: memorySources() }, '', {
        expected: new RegExp(`Failed to load resource.*${status}`),
        prepare: (page) =>
          page.route(/\/names-view-[^/]*\.js$/, async (route) => {
            refused += 1;
            if (refused > 4) await route.continue();
            else await route.fulfill({ status, headers: { 'Retry-After': '1' }, body: 'Too many requests' });
          }),
      });
      await go('#/names');
      await page.getByText('No task').first().waitFor();
      expect(refused).toBeGreaterThan(4);
      expect(await page.getByText('may have been updated').count()).toBe(0);
    },
  );

  it('that is gone is told at once', async () => {
    const { page, go } = await visit({ sources: memorySources() }, '', {
      expected: /Failed to load resource/,
      prepare: (page) =>
        page.route(/\/names-view-[^/]*\.js$/, (route) => route.fulfill({ status: 404, body: 'Not found' })),
    });
    await go('#/names');
    await page.getByText('This view could not be loaded. The app may have been updated.').waitFor();
  });
});
