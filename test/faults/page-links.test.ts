/** Row 49: addresses that a browser must not take for anything but texts. */
import { beforeAll, expect } from 'vitest';
import { memorySources } from '../../src/memory.ts';
import { browserMissing, look, startBrowser } from '../dashboard/browser.ts';
import { faultCase } from './kit/fault-case.ts';

// It is none of what a case leaves behind.
beforeAll(async () => {
  if (browserMissing === null) await startBrowser();
});

const LINKS = [
  'javascript:alert(4)',
  'JaVaScRiPt:alert(4)',
  '\u0001javascript:alert(4)',
  'java\nscript:alert(4)',
  'data:text/html,<script>alert(4)</script>',
  'vbscript:msgbox(4)',
  'file:///etc/passwd',
  '//evil.example/',
];

faultCase(
  49,
  `${LINKS.length} addresses that are no web pages are texts`,
  async ({ serve }) => {
    const part = { enabled: true, status: 'up' } as const;
    const web = 'https://redis.example/';
    const listed = [...LINKS, web].map((url, index) => ({
      ...part,
      key: `c${index}`,
      name: `part ${index}`,
      url,
    }));
    const components = { name: 'evil', listComponents: () => listed };
    const { base } = await serve({ sources: { ...memorySources(), components } });
    const { page } = await look(base, '#/system');
    await page.getByText(`part ${LINKS.length}`).first().waitFor();
    expect(await page.locator('#app .card, #app section.panel').count()).toBeGreaterThan(LINKS.length);
    const hrefs: string[] = await page.evaluate(
      "[...document.querySelectorAll('#app a')].map((a) => a.href)",
    );
    const { origin } = new URL(base);
    expect(hrefs.filter((href) => !href.startsWith(`${origin}/`))).toEqual([web]);
  },
  { missing: browserMissing, timeout: 90_000 },
);
