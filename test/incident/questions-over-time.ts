/** The questions about what has changed since when. */
import { expect } from 'vitest';
import { until } from '../helpers/redis-server.ts';
import type { Question } from './question.ts';
import { clockTime, expectAge, textWith } from './reading.ts';

/** Each of two percentiles of counts is at most half above the true value, or a third below it. */
const MOST_OFF = 1.5 * 1.5;

/** Questions that compare now with before. */
export const QUESTIONS_OVER_TIME: readonly Question[] = [
  {
    text: 'Is the queue backing up, since when?',
    picture: 'queue',
    async answer({ page, open }, { queue, waiting, dueSince, isShort }) {
      await open('Queues');
      const first = page.locator('main tbody tr').first();
      await textWith(first, queue, String(waiting));
      await expectAge(first.locator('[data-label="Oldest due"]'), dueSince);
      // Nobody can say of two minutes that a queue keeps growing.
      if (!isShort) {
        const [last, next] = [await clockTime(page, dueSince - 60_000), await clockTime(page, dueSince)];
        // The page writes the date, too, of what was on another day than today.
        await textWith(first, new RegExp(`Growing since (?:\\S+ )?(?:${last}|${next})`));
      }
      const [depth, age] = await first.locator('[data-label]').allTextContents();
      return `${queue}: ${depth?.trim()} waiting, oldest due ${age?.trim()}`;
    },
  },
  {
    text: 'Which task name got slow in the last hour?',
    picture: 'slow-name',
    async answer({ page, click }, { slow, slowdown, marker, isShort }) {
      if (isShort) {
        await click(page.getByRole('button', { name: /^Time: / }));
        await click(page.getByRole('button', { name: `Since ${marker}` }));
      }
      const first = page.locator('table.named tbody tr').first();
      await textWith(first, slow, '▲');
      const shown = Number(/▲ ([\d.]+)×/.exec((await first.textContent()) ?? '')?.[1]);
      expect(shown).toBeGreaterThan(slowdown / MOST_OFF);
      expect(shown).toBeLessThan(slowdown * MOST_OFF);
      await click(first.getByRole('link', { name: slow }));
      await page.getByRole('heading', { level: 1, name: slow }).waitFor();
      await textWith(page.locator('main'), 'Run p95', '▲');
      return `${slow}: p95 ▲ ${shown}×`;
    },
  },
  {
    text: 'What failed since the deploy at 10:00, by error?',
    picture: 'since-deploy',
    async answer({ page, click }, { marker, failures }) {
      await click(page.getByRole('button', { name: `Marker ${marker}` }));
      await click(page.getByRole('link', { name: `Failures since ${marker}` }));
      await page.getByRole('heading', { level: 1, name: 'Failures' }).waitFor();
      const rows = page.locator('.causes tbody tr');
      await until(async () => (await rows.count()) === Object.keys(failures).length);
      const shown = Object.fromEntries(
        await Promise.all(
          (await rows.all()).map(async (row) => [
            await row.locator('.cause-name b').first().textContent(),
            Number(/\d+/.exec((await row.locator('.cause-count').textContent()) ?? '')?.[0]),
          ]),
        ),
      );
      expect(shown).toEqual(failures);
      return Object.entries(failures)
        .map(([name, count]) => `${name} ${count}`)
        .join(', ');
    },
  },
];
