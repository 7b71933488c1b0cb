/** The ten questions of an incident: what somebody does on the page to answer each, and what the answer has to be. */
import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';
import { until } from '../helpers/redis-server.ts';
import type { Truth } from './memory-incident.ts';
import type { Story } from './story.ts';
import type { Visitor } from './visitor.ts';

/** What is known of the incident, to be compared with what the page says. */
export interface Facts {
  readonly story: Story;
  readonly truth: Truth;
}

/** A question. */
export interface Question {
  readonly text: string;
  /** File name of its screenshot. */
  readonly picture: string;
  /** Answers it, starting on the overview, and fails unless the answer is what the script did. */
  readonly answer: (visitor: Visitor, facts: Facts) => Promise<string>;
}

const MINUTE = 60_000;

/** The text of what is found, once it contains all of this. */
async function textWith(target: Locator, ...parts: readonly (string | RegExp)[]): Promise<string> {
  let text = '';
  try {
    await until(async () => {
      text = (await target.allTextContents()).join(' ');
      return parts.every((part) => (typeof part === 'string' ? text.includes(part) : part.test(text)));
    });
  } catch {
    // The comparison shows what is missing.
    for (const part of parts) expect(text).toMatch(part);
  }
  return text.replaceAll(/\s+/g, ' ').trim();
}

/** `35 min`, or the minute before or after: time goes on while somebody reads. */
function minutesSince(time: number): RegExp {
  const minutes = Math.floor((Date.now() - time) / MINUTE);
  return new RegExp(`\\b(?:${[minutes - 1, minutes, minutes + 1].join('|')}) min\\b`);
}

/** The time of day of a moment, as the page writes it. */
function clockTime(page: Page, time: number): Promise<string> {
  return page.evaluate(
    `new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' }).format(${time})`,
  ) as Promise<string>;
}

const findings = (page: Page): Locator => page.getByRole('list', { name: 'Problems' }).getByRole('listitem');

const QUESTIONS_ABOUT_NOW: readonly Question[] = [
  {
    text: 'Is anything wrong right now?',
    picture: 'wrong-now',
    async answer({ page }, { story, truth }) {
      await textWith(
        findings(page),
        `${story.failing} fails`,
        `${story.worker}: ${story.slots} of ${story.slots} slots hold the same tasks`,
        `Queue ${story.queue}: oldest due`,
        `${truth.waiting} tasks waiting`,
      );
      const all = await findings(page).locator('strong').allTextContents();
      return all.join('; ');
    },
  },
  {
    text: "Why did order 11448's payment fail, and what happened next?",
    picture: 'order',
    async answer({ page, search, click }, { story }) {
      await search(story.order);
      await click(page.locator('.rows [role=row]', { hasText: 'FAILURE' }).getByRole('link'));
      await page.getByRole('heading', { level: 1, name: story.failing }).waitFor();
      const [cause] = story.causes;
      const why = `${cause?.exception}: ${cause?.message} ${story.order}`;
      await textWith(page.locator('main'), why);
      await click(page.getByRole('link', { name: /Workflow/ }));
      await textWith(page.locator('main'), story.next, story.failing);
      return `${why}; then ${story.next}`;
    },
  },
  {
    text: 'Which worker is stuck?',
    picture: 'stuck-worker',
    async answer({ page, click }, { story }) {
      await click(page.getByRole('link', { name: new RegExp(`^Worker: ${story.worker}`) }));
      await page.getByRole('heading', { level: 1, name: story.worker }).waitFor();
      const text = await textWith(
        page.locator('section.worker'),
        'stuck',
        `${story.slots}/${story.slots}`,
        story.hung,
        minutesSince(story.hungSince),
      );
      const running = page.getByRole('list', { name: 'Running now' }).getByRole('listitem');
      expect(await running.count()).toBe(story.slots);
      expect(text.split(story.hung).length - 1).toBe(story.slots);
      return `${story.worker}, ${story.slots}/${story.slots}: ${story.hung} for ${minutesSince(story.hungSince).exec(text)?.[0]}`;
    },
  },
  {
    text: 'Is the queue backing up, since when?',
    picture: 'queue',
    async answer({ page, click }, { story, truth }) {
      const finding = findings(page).filter({ hasText: `Queue ${story.queue}` });
      const since = await clockTime(page, story.backingUpSince);
      const text = await textWith(finding, minutesSince(story.backingUpSince), `since ${since}`);
      await click(finding.getByRole('link'));
      await page.locator('#view-title').waitFor();
      await textWith(page.locator('main'), String(truth.waiting));
      return `since ${since}: ${/oldest due.*?waiting/.exec(text)?.[0]}`;
    },
  },
];

const QUESTIONS_ABOUT_TASKS: readonly Question[] = [
  {
    text: 'Find the task with argument 11448',
    picture: 'argument',
    async answer({ page, search }, { story }) {
      await search(story.order);
      const rows = page.locator('.rows [role=row]');
      await textWith(rows, 'orders.place', story.failing, story.next);
      // While it is typed, more tasks match.
      await until(async () => (await rows.count()) === 3);
      return 'orders.place, payments.charge, orders.cancel';
    },
  },
  {
    text: 'Share this view with a colleague',
    picture: 'share',
    async answer({ page, click }, { story }) {
      await click(page.getByRole('button', { name: 'More' }));
      await click(page.getByRole('button', { name: 'Copy link' }));
      await page.getByText('Copied').waitFor();
      const link = (await page.evaluate('navigator.clipboard.readText()')) as string;
      const period = new URLSearchParams(link.split('?').at(-1));
      const [from, to] = ['from', 'to'].map((name) => Date.parse(period.get(name) ?? ''));
      expect(Number(from)).toBeLessThan(story.deploy);
      expect(Math.abs(Number(to) - Date.now())).toBeLessThan(2 * MINUTE);
      // A colleague sees the same figures.
      const shown = await page.context().newPage();
      await shown.goto(link);
      await textWith(shown.locator('main'), story.failing);
      await shown.close();
      return 'a link with a fixed period';
    },
  },
  {
    text: 'Is this schedule running?',
    picture: 'schedule',
    async answer({ page, open, click }, { story: { schedule } }) {
      await open('Schedules');
      const runs = page.getByRole('list', { name: `Latest runs of ${schedule.name}` }).getByRole('link');
      await until(async () => (await runs.count()) === schedule.runs);
      const labels = await runs.evaluateAll((links) => links.map((link) => link.getAttribute('aria-label')));
      expect(labels.every((label) => label?.startsWith('SUCCESS, '))).toBe(true);
      await click(runs.last());
      await page.getByRole('heading', { level: 1, name: schedule.task }).waitFor();
      await textWith(page.locator('main'), 'SUCCESS');
      return `${schedule.runs} of ${schedule.runs} runs succeeded`;
    },
  },
  {
    text: 'What is running now, and is it longer than usual?',
    picture: 'running',
    async answer({ page, open }, { story }) {
      await open('Workers');
      const first = page.locator('section.worker').first();
      const text = await textWith(first, story.worker, story.hung, minutesSince(story.hungSince), /p95 /);
      // The usual is 50 s, and percentiles of counts are at most half above that.
      expect(text).toMatch(/p95 (?:[3-5]\d s|1 min)/);
      return `${story.hung} for ${minutesSince(story.hungSince).exec(text)?.[0]}, ${/p95 (?:\d+ (?:s|min) ?)+/.exec(text)?.[0].trim()}`;
    },
  },
];

/** All of them, in the order in which people ask. */
export const QUESTIONS: readonly Question[] = [...QUESTIONS_ABOUT_NOW, ...QUESTIONS_ABOUT_TASKS];
