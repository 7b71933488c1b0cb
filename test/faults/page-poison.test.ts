/** Rows 48 and 49 (and 13's page): texts that a browser must not take for anything but texts. */
import helmet from 'helmet';
import { beforeAll, expect } from 'vitest';
import { memorySources } from '../../src/memory.ts';
import { browserMissing, look, startBrowser } from '../dashboard/browser.ts';
import { POISON, poisoned } from '../dashboard/poison.ts';
import { faultCase } from './kit/fault-case.ts';

// It is none of what a case leaves behind.
beforeAll(async () => {
  if (browserMissing === null) await startBrowser();
});

const id = encodeURIComponent(POISON);
const VIEWS = [
  '#/',
  '#/tasks',
  `#/tasks?q=alert&state=${id}&name=${id}&worker=${id}&queue=${id}&group_id=${id}`,
  `#/tasks/${id}`,
  `#/tasks/${encodeURIComponent(`a/b?c#d ${POISON}`)}`,
  `#/tasks/${encodeURIComponent(`x${POISON}`)}`,
  `#/workflow/${id}`,
  `#/workflow/${id}?view=graph`,
  '#/workers',
  '#/schedules',
  '#/system',
  `#/${POISON}`,
];
const ALIVE =
  '#app img, #app script, #app iframe, #app [onload], #app [onerror], #app a[href^="javascript:"]';

const POLICIES = {
  "helmet's default policy": helmet(),
  'the strictest policy that lets it run': helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'none'"],
        scriptSrc: ["'self'"],
        styleSrc: ["'self'"],
        connectSrc: ["'self'"],
        imgSrc: ["'self'"],
      },
    },
  }),
};

for (const [policy, guard] of Object.entries(POLICIES)) {
  faultCase(
    48,
    `script in every text of ${VIEWS.length} views, under ${policy}`,
    async ({ serve, figure }) => {
      const { base } = await serve(
        { sources: poisoned(), dashboard: { title: POISON } },
        { before: (app) => void app.use(guard) },
      );
      // A dialog, an error, a violation of the policy or a request to elsewhere fails the test by itself.
      const { page, go, text } = await look(base, VIEWS[0], { expected: /40[04]|503/ });
      for (const view of VIEWS) {
        await go(view);
        await page.getByText('onerror=alert(1)').first().waitFor();
        expect(await text()).toContain('<img src=x onerror=alert(1)>');
        expect(await page.locator(ALIVE).count()).toBe(0);
      }
      figure('views', VIEWS.length);
    },
    { missing: browserMissing, timeout: 90_000 },
  );
}

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

const ODD = 'odd \u202eesrever\u2028\0\ud800💣\u001b[31m end';

faultCase(
  13,
  'the page shows a name that reverses, ends or colours a text elsewhere',
  async ({ serve }) => {
    const queue = memorySources();
    queue.record({ id: 'a', state: 'STARTED', name: ODD, worker: ODD, queue: ODD, args: [ODD] });
    const { base } = await serve({ sources: queue });
    const { page, go, text } = await look(base, '#/tasks', { expected: /40[04]/ });
    for (const view of ['#/tasks', '#/tasks/a', '#/']) {
      await go(view);
      await page.getByText('odd').filter({ visible: true }).first().waitFor();
      expect(await text()).toContain('💣');
      const direction: string = await page.evaluate(
        "getComputedStyle(document.querySelector('#app')).direction",
      );
      expect(direction).toBe('ltr');
    }
  },
  { missing: browserMissing, timeout: 90_000 },
);
