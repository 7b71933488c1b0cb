/** Rows 48 and 49 (and 13's page): texts that a browser must not take for anything but texts. */
import helmet from 'helmet';
import { expect } from 'vitest';
import { memorySources } from '../../src/memory.ts';
import { browserMissing, look } from '../dashboard/browser.ts';
import { POISON, poisoned } from '../dashboard/poison.ts';
import { faultCase } from './kit/fault-case.ts';

const id = encodeURIComponent(POISON);
const VIEWS = [
  '#/',
  '#/tasks',
  `#/tasks?q=alert&state=${id}&name=${id}&worker=${id}&queue=${id}&group_id=${id}`,
  `#/tasks/${id}`,
  `#/tasks/${encodeURIComponent(`a/b?c#d ${POISON}`)}`,
  `#/tasks/${encodeURIComponent(`x${POISON}`)}`,
  `#/workflow/${id}`,
  '#/workers',
  '#/schedules',
  '#/components',
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
    for (const link of LINKS) {
      const { base } = await serve({ sources: poisoned(link) });
      const { page } = await look(base, '#/components', { expected: /40[04]|503/ });
      await page.getByText('onerror=alert(1)').first().waitFor();
      const hrefs: string[] = await page
        .locator('#app a')
        .evaluateAll((links) => links.map((one) => String(one)));
      for (const href of hrefs) expect(href).toMatch(new RegExp(`^${new URL(base).origin}/`));
    }
    const { base } = await serve({ sources: poisoned('https://redis.example/') });
    const { page } = await look(base, '#/components', { expected: /40[04]|503/ });
    await page.locator('#app a[href="https://redis.example/"]').waitFor();
  },
  { missing: browserMissing, timeout: 90_000 },
);

const ODD = 'odd \u202eesrever\u2028\0\ud800💣\u001b[31m end';

faultCase(
  13,
  'the page shows odd characters, and what stands beside them stays where it is',
  async ({ serve }) => {
    const queue = memorySources();
    queue.record({ id: 'a', state: 'STARTED', name: ODD, worker: ODD, queue: ODD, args: [ODD] });
    const { base } = await serve({ sources: queue });
    const { page, go } = await look(base, '#/tasks', { expected: /40[04]/ });
    for (const view of ['#/tasks', '#/tasks/a', '#/', '#/workers']) {
      await go(view);
      await page.getByText('odd').first().waitFor();
      const direction: string = await page.locator('#app').evaluate((app) => getComputedStyle(app).direction);
      expect(direction).toBe('ltr');
    }
  },
  { missing: browserMissing, timeout: 90_000 },
);
