/** The page of a task: jobs of a running BullMQ, and tasks with attempts in the memory source. */
import * as bullmq from 'bullmq';
import type { Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { bullmqSources } from '../../src/bullmq.ts';
import { memorySources } from '../../src/memory.ts';
import { startBullMQ } from '../helpers/bullmq-app.ts';
import { redisMissing, titleUnless } from '../helpers/redis-server.ts';
import { browserMissing, browserTitle, DESKTOP, PHONE, visit } from './browser.ts';

const missing = browserMissing ?? redisMissing;

const head = (page: Page) => page.getByRole('region', { name: 'Outcome' });
const flow = (page: Page) => page.getByRole('region', { name: 'Workflow' });
/** The values that are shown, in their order. */
const valuesOf = (page: Page) => page.locator('.value h2').allTextContents();
const smallTargets = (page: Page) =>
  page.evaluate<string[]>(
    `[...document.querySelectorAll('.task button, .task .panel-more, .task-story a, .wf-list a')]
      .filter((one) => one.checkVisibility() && one.getBoundingClientRect().height < 44)
      .map((one) => one.outerHTML)`,
  );

/** An album whose pages are printed: one fails at each of its three attempts, with a log and its progress. */
async function album() {
  const app = await startBullMQ(bullmq);
  onTestFinished(() => app.close());
  const [books, pages] = [app.queue('books'), app.queue('pages')];
  app.worker('pages', async (job) => {
    await job.log(`printing page ${job.data.page}`);
    await job.updateProgress({ current: 3, total: 10, text: 'colours' });
    if (job.data.page !== 2) return { printed: job.data.page };
    throw new Error(`no ink for page 2, attempt ${job.attemptsMade + 1}`);
  });
  const children = Array.from({ length: 14 }, (_, page) => ({
    name: 'page.print',
    queueName: 'pages',
    data: { page },
    opts: { jobId: `p${page}`, attempts: 3, backoff: 1 },
  }));
  const flow = await app.flow().add({ name: 'album.print', queueName: 'books', children });
  await app.settled(pages, 14, 'completed', 'failed');
  const view = await visit(
    {
      sources: bullmqSources({ queues: [books, pages] }),
      taskLinks: () => [{ text: 'Logs', url: 'https://logs.example/' }],
    },
    '#/tasks/pages%3Ap2',
    DESKTOP,
  );
  await view.settled();
  return { ...view, parent: `books:${flow.job.id}` };
}

describe.skipIf(missing)(titleUnless(missing, 'the page of a job of BullMQ'), () => {
  it('shows attempts, data, options, progress, log and flow, and fits a phone', async () => {
    const { page, parent, go, settled, sideways } = await album();
    const attempts = page.getByRole('region', { name: 'Attempts' }).locator('li');
    expect(await attempts.count()).toBe(3);
    expect(await attempts.first().textContent()).toContain('no ink for page 2, attempt 1');
    expect(await attempts.last().textContent()).toMatch(/failed after/);
    await head(page).getByText('no ink for page 2, attempt 3').waitFor();
    const trace = page.getByRole('region', { name: 'Traceback' });
    await trace
      .getByText(/task\.test\.ts/)
      .first()
      .waitFor();
    expect(await trace.getByText(/node_modules/).count()).toBe(0);
    await trace.getByRole('button', { name: 'Show all frames' }).click();
    await trace.getByText(/node_modules/).waitFor();

    expect(await valuesOf(page)).toEqual(['Data', 'Options', 'Traceback', 'Log']);
    await page.getByRole('region', { name: 'Data' }).getByText('"page":2').waitFor();
    await page.getByRole('region', { name: 'Log' }).getByText('printing page 2').first().waitFor();
    await head(page).getByText('30 % · 3 of 10 colours').waitFor();
    await head(page).getByRole('link', { name: 'Logs' }).waitFor();

    // The job that waits for it, itself, and what is next to it, of fourteen pages and a fold.
    const rows = flow(page).getByRole('listitem');
    expect((await rows.allTextContents()).map((text) => /[a-z]+\.print/.exec(text)?.[0])).toEqual([
      'album.print',
      ...Array(4).fill('page.print'),
    ]);
    expect(await flow(page).locator('[aria-current]').textContent()).toMatch(/page\.print.*FAILURE/);
    await flow(page).getByRole('link', { name: 'Show all in the workflow ›' }).waitFor();
    expect(await sideways()).toBe(0);
    await page.setViewportSize(PHONE.viewport);
    await settled();
    expect([await sideways(), await smallTargets(page)]).toEqual([0, []]);

    await go(`#/tasks/${encodeURIComponent(parent)}`);
    await settled();
    await flow(page).getByText('×14').waitFor();
    await flow(page).getByText('1 failed').first().waitFor();
    await flow(page).getByRole('link', { name: 'Show all in the workflow ›' }).click();
    await page.getByText('15 tasks, 1 failed').waitFor();
  });

  it('shows the error before everything else on a phone', async () => {
    const { page, settled } = await album();
    await page.setViewportSize(PHONE.viewport);
    await settled();
    const top = async (text: string): Promise<number> =>
      (await page.locator('.task').getByText(text).first().boundingBox())?.y ?? Number.NaN;
    const tops = [await top('no ink for page 2, attempt 3'), await top('Queue'), await top('Data')];
    expect(tops).toEqual(tops.toSorted((one, other) => one - other));
    const size = await page.evaluate<string>(
      "getComputedStyle(document.querySelector('.error-text')).fontSize",
    );
    expect(Number.parseFloat(size)).toBeGreaterThanOrEqual(18);
  });
});

/** What each attempt says; without earlier attempts, what the head says beside time, place and number. */
async function livesOf(page: Page): Promise<readonly string[]> {
  const lives = await page.getByRole('region', { name: 'Attempts' }).locator('li').allTextContents();
  if (lives.length > 0) return lives;
  const tiles = await head(page)
    .locator('dl > div')
    .evaluateAll((all) => all.map(({ children }) => [...children].map((one) => one.textContent).join(' ')));
  return [tiles.filter((text) => !/^(Sent|Started|Ended|Worker|Attempt) /.test(text)).join('')];
}

const hoursAgo = (hours: number): number => Date.now() - hours * 3_600_000;
const like = (text: string | RegExp): unknown =>
  text instanceof RegExp ? expect.stringMatching(text) : text;

/** What became of tasks, in hours before now, and what each attempt says. */
const LIVES: Readonly<
  Record<
    string,
    {
      readonly changes: readonly (readonly [state: string, hours: number, retries?: number])[];
      readonly says: readonly (string | RegExp)[];
    }
  >
> = {
  'ran at once': {
    changes: [
      ['PENDING', 8],
      ['RECEIVED', 7],
      ['STARTED', 6],
      ['SUCCESS', 3],
    ],
    says: ['waited 2 hran 3 h'],
  },
  'runs again': {
    changes: [
      ['PENDING', 20],
      ['RECEIVED', 19],
      ['STARTED', 18],
      ['RETRY', 15],
      ['RECEIVED', 5, 1],
      ['STARTED', 4, 1],
    ],
    says: [
      'Attempt 1before its start 2 hfailed after 3 huntil retry 10 h',
      /^Attempt 2(?:waited .*)?running for 4 h$/,
    ],
  },
  'waits for a retry': {
    changes: [
      ['PENDING', 8],
      ['RECEIVED', 7],
      ['STARTED', 6],
      ['RETRY', 3],
    ],
    says: [/before its start 2 hfailed after 3 huntil retry 3 h/],
  },
  'has overlapping messages': {
    changes: [
      ['PENDING', 9],
      ['RECEIVED', 8],
      ['STARTED', 7],
      ['STARTED', 5, 1],
      ['RETRY', 4],
      ['SUCCESS', 3, 1],
    ],
    says: [/^Attempt 1before its start 2 hfailed after 3 hError: full$/, /^Attempt 2(?:waited .*)?ran 2 h$/],
  },
  'is not due yet': {
    changes: [
      ['PENDING', 6],
      ['RECEIVED', 5],
    ],
    says: ['held until its ETA 5 h'],
  },
  'has been due': {
    changes: [
      ['PENDING', 6],
      ['RECEIVED', 5],
    ],
    says: ['held until its ETA 3 hon the worker, not started 2 h'],
  },
  'is in its queue': { changes: [['PENDING', 6]], says: ['waiting for a worker 6 h'] },
};
/** When some of them are due, in hours before now. */
const ETAS: Readonly<Record<string, number>> = { 'is not due yet': -2, 'has been due': 2 };

describe.skipIf(browserMissing)(browserTitle('the page of a task'), () => {
  it('has a bar for each attempt, with what it waited, ran and paused', async () => {
    const queue = memorySources({ name: 'shop' });
    const now = Date.now();
    const task = { id: 'a', name: 'mail.send', worker: 'w1@h' };
    const change = (state: string, secondsAgo: number, retries: number, more: object = {}): void =>
      queue.record({ ...task, state, retries, timestamp: now - secondsAgo * 1_000, ...more });
    const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
    change('PENDING', 100, 0, { traceparent: `00-${trace}-00f067aa0ba902b7-01` });
    change('RECEIVED', 95, 0);
    change('STARTED', 90, 0);
    change('RETRY', 70, 0, { error: new Error('mailbox full') });
    change('RECEIVED', 40, 1);
    change('STARTED', 40, 1);
    change('SUCCESS', 30, 1, { runtime: 10, result: 'sent' });
    const { page, settled } = await visit({ sources: queue }, '#/tasks/a', DESKTOP);
    await settled();
    const lives = page.getByRole('region', { name: 'Attempts' }).locator('li');
    expect(await lives.allTextContents()).toEqual([
      'Attempt 1before its start 10 sfailed after 20 suntil retry 30 sError: mailbox full',
      expect.stringMatching(/^Attempt 2(?:waited .*)?ran 10 s$/),
    ]);
    expect(await lives.first().locator('.life-bar span').count()).toBe(3);
    // One scale for all: the second attempt took a sixth of the first.
    const width = async (index: number): Promise<number> =>
      (await lives.nth(index).locator('.life-bar').boundingBox())?.width ?? 0;
    expect((await width(1)) / (await width(0))).toBeCloseTo(1 / 6, 1);
    expect(await valuesOf(page)).toEqual(['Result']);
    expect(await flow(page).count()).toBe(0);
    await page.getByText(trace, { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Copy trace id' }).waitFor();
  });

  it('shows what followed, and the tasks around it with its earlier attempts', async () => {
    const queue = memorySources({ name: 'shop' });
    const now = Date.now();
    const record = (id: string, state: string, secondsAgo: number, more: object = {}): void =>
      queue.record({
        ...{ id, name: id, rootId: 'first', state, timestamp: now - secondsAgo * 1_000 },
        ...more,
      });
    const [below, next] = [{ parentId: 'first' }, { parentId: 'again' }];
    const error = new Error('the bank is closed');
    record('first', 'STARTED', 101);
    record('first', 'SUCCESS', 100);
    record('again', 'PENDING', 100, { ...below, args: [], kwargs: { amount: 7 } });
    record('again', 'STARTED', 100, below);
    record('again', 'RETRY', 90, { ...below, error, retries: 0 });
    record('again', 'STARTED', 60, { ...below, retries: 1 });
    record('again', 'FAILURE', 50, { ...below, error, retries: 1 });
    record('undo', 'STARTED', 50, next);
    record('undo', 'SUCCESS', 45, next);
    for (let index = 0; index < 9; index += 1) record(`late-${index}`, 'PENDING', 40 - index, below);
    const { page, settled } = await visit({ sources: queue }, '#/tasks/again', DESKTOP);
    await flow(page).getByRole('listitem').first().waitFor();
    await settled();
    expect(await head(page).locator('.task-story').first().textContent()).toBe('Then: undo ✓ SUCCESS');
    // What failed is not said twice, and what is empty not at all.
    expect(await valuesOf(page)).toEqual(['Keyword arguments', 'Traceback: app code']);
    const rows = flow(page).getByRole('listitem');
    expect(await rows.locator('.wf-link').allTextContents()).toEqual([
      ...['first', 'again', 'undo', 'late-0', 'late-1'],
    ]);
    expect(await flow(page).locator('[aria-current] .wf-run').count()).toBe(2);
    expect(await flow(page).locator('.wf-pause').allTextContents()).toEqual(['30 s, retrying']);
    // A wait of no length is not drawn.
    expect(await rows.first().locator('.wf-wait').count()).toBe(0);
    await rows.getByRole('link', { name: 'undo' }).click();
    await page.getByRole('heading', { name: 'undo', level: 1 }).waitFor();
  });

  it('lays out deep and long arguments in about as many characters as they have', async () => {
    const queue = memorySources({ name: 'shop' });
    const args = `${'('.repeat(50)}${'1, '.repeat(20_000)}${')'.repeat(50)}`;
    queue.record({ id: 'deep', name: 'deep', state: 'SUCCESS', args });
    const { page, settled } = await visit({ sources: queue }, '#/tasks/deep', DESKTOP);
    await settled();
    const label = await page.getByRole('button', { name: /^Show all .* characters$/ }).textContent();
    expect(Number(label?.replaceAll(/\D/g, ''))).toBeLessThan(2 * args.length);
  });

  it('says why it waits, and until when', async () => {
    const queue = memorySources();
    queue.record({ id: 'later', state: 'PENDING', name: 'mail.send', eta: Date.now() + 90 * 60_000 });
    const { page } = await visit({ sources: queue }, '#/tasks/later', DESKTOP);
    await head(page)
      .getByText(/^Starts at .* at the earliest\. Ends in 1 h/)
      .waitFor();
  });

  it('says what it waited for, and for how long', async () => {
    const queue = memorySources({ name: 'shop' });
    for (const [id, { changes }] of Object.entries(LIVES)) {
      for (const [state, hours, retries = 0] of changes) {
        const error = state === 'RETRY' ? { error: new Error('full') } : {};
        const eta = id in ETAS && state === 'RECEIVED' ? { eta: hoursAgo(ETAS[id] ?? 0) } : {};
        const task = { id, name: id, worker: 'w1@h', retries, timestamp: hoursAgo(hours) };
        queue.record({ ...task, state, ...error, ...eta });
      }
    }
    const { page, go, settled } = await visit({ sources: queue }, '#/tasks', DESKTOP);
    const shown: Record<string, readonly string[]> = {};
    for (const id of Object.keys(LIVES)) {
      await go(`#/tasks/${encodeURIComponent(id)}`);
      await page.getByRole('heading', { name: id, exact: true }).waitFor();
      await settled();
      const texts = await livesOf(page);
      shown[id] = texts.map((text) => text.replaceAll(/ \d min\b/g, ''));
    }
    expect(shown).toEqual(
      Object.fromEntries(Object.entries(LIVES).map(([id, { says }]) => [id, says.map(like)])),
    );
  });
});
