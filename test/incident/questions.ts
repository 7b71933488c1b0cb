/** The ten questions of an incident: what somebody does on the page to answer each, and what the answer has to be. */
import { expect } from 'vitest';
import { until } from '../helpers/redis-server.ts';
import type { Question } from './question.ts';
import { QUESTIONS_OVER_TIME } from './questions-over-time.ts';
import { expectAge, findings, textWith } from './reading.ts';

/** Runs of an entry that the page shows, and that it shows on a phone. */
const [MOST_RUNS, MOST_ON_PHONE] = [20, 7];

const QUESTIONS_ABOUT_NOW: readonly Question[] = [
  {
    text: 'Is anything wrong right now?',
    picture: 'wrong-now',
    async answer({ page }, { problems }) {
      await textWith(findings(page), ...problems);
      const all = await findings(page).locator('strong').allTextContents();
      return all.join('; ');
    },
  },
  {
    text: "Why did order 11448's payment fail, and what happened next?",
    picture: 'order',
    async answer({ page, search, click }, { order, failing, why, next }) {
      await search(order);
      await click(page.locator('.rows [role=row]', { hasText: 'FAILURE' }).getByRole('link'));
      await page.getByRole('heading', { level: 1, name: failing }).waitFor();
      await textWith(page.locator('main'), ...why);
      const then = page.locator('main').getByRole('listitem').filter({ hasText: next });
      await textWith(then, 'SUCCESS');
      return `${why.join(': ')}; then ${next}`;
    },
  },
  {
    text: 'Which worker is stuck?',
    picture: 'stuck-worker',
    async answer({ page, click }, { worker, hung, slots, hungSince }) {
      await click(findings(page).filter({ hasText: hung }).getByRole('link'));
      // The page of the worker if it is known to be stuck, otherwise all that runs.
      const rows = page.locator('.running-table tbody tr, .running li').filter({ hasText: hung });
      await until(async () => (await rows.count()) === slots);
      await textWith(page.locator('main'), worker);
      for (const row of await rows.all()) await row.getByRole('img', { name: 'Stuck' }).waitFor();
      await expectAge(rows.first(), hungSince);
      return `${worker} holds ${slots} ${hung}`;
    },
  },
];

const QUESTIONS_ABOUT_TASKS: readonly Question[] = [
  {
    text: 'Find the task with argument 11448',
    picture: 'argument',
    async answer({ page, search }, { order, orderTasks }) {
      await search(order);
      // A search finds ids as well, and one of a thousand random ids may contain the number.
      const rows = page.locator(`.rows [role=row]:has(.c-args[title*="${order}"])`);
      await textWith(rows, ...orderTasks);
      // While it is typed, more tasks match.
      await until(async () => (await rows.count()) === orderTasks.length);
      return orderTasks.join(', ');
    },
  },
  {
    text: 'Share this view with a colleague',
    picture: 'share',
    async answer({ page, click }, { deploy, failing }) {
      await click(page.getByRole('button', { name: 'More' }));
      await click(page.getByRole('button', { name: 'Copy link' }));
      await page.getByText('Copied').waitFor();
      const link = (await page.evaluate('navigator.clipboard.readText()')) as string;
      const period = new URLSearchParams(link.split('?').at(-1));
      const [from, to] = ['from', 'to'].map((name) => Date.parse(period.get(name) ?? ''));
      expect(Number(from)).toBeLessThan(deploy);
      expect(Math.abs(Number(to) - Date.now())).toBeLessThan(120_000);
      // A colleague sees the same figures.
      const shown = await page.context().newPage();
      await shown.goto(link);
      await textWith(shown.locator('main'), failing);
      await shown.close();
      return 'a link with a fixed period';
    },
  },
  {
    text: 'Is this schedule running?',
    picture: 'schedule',
    async answer({ page, isPhone, open, click }, { schedule }) {
      await open('Schedules');
      const runs = page.getByRole('list', { name: `Latest runs of ${schedule.name}` }).getByRole('link');
      const ended = runs.and(page.getByRole('link', { name: /^SUCCESS, / }));
      const least = Math.min(isPhone ? MOST_ON_PHONE : MOST_RUNS, await schedule.runs());
      await until(async () => (await runs.count()) >= least);
      expect(await runs.count()).toBeLessThanOrEqual((await schedule.runs()) + 1);
      // The latest one may have begun while somebody looked.
      await until(async () => (await ended.count()) >= (await runs.count()) - 1);
      const text = `${await ended.count()} runs succeeded, none failed`;
      await click(ended.last());
      await page.getByRole('heading', { level: 1, name: schedule.task }).waitFor();
      await textWith(page.locator('main'), 'SUCCESS');
      return text;
    },
  },
  {
    text: 'What is running now, and is it longer than usual?',
    picture: 'running',
    async answer({ page, open }, { worker, hung, hungSince }) {
      await open('Workers');
      const first = page.locator('section.worker').first();
      await textWith(first, worker, hung, /p95 /);
      const running = first.getByRole('list', { name: 'Running now' }).getByRole('listitem').first();
      await expectAge(running, hungSince);
      await running.getByRole('img', { name: 'Stuck' }).waitFor();
      return (await running.textContent())?.trim() ?? '';
    },
  },
];

/** All of them, in the order in which people ask. */
export const QUESTIONS: readonly Question[] = [
  ...QUESTIONS_ABOUT_NOW,
  ...QUESTIONS_OVER_TIME,
  ...QUESTIONS_ABOUT_TASKS,
];
