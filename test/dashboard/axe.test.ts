/** What axe finds in every view, in every state, in both themes and sizes. */
import axe from 'axe-core';
import { describe, expect, it } from 'vitest';
import type { MonitorOptions } from '../../src/index.ts';
import { memorySources } from '../../src/memory.ts';
import type { SourceStatus } from '../../src/source.ts';
import {
  browserMissing,
  browserTitle,
  DESKTOP,
  type Look,
  type LookOptions,
  PHONE,
  visit,
} from './browser.ts';
import { createFailures } from './failures-shop.ts';
import { createNamesShop } from './names-shop.ts';
import { createOrder } from './order-shop.ts';
import { createShop } from './shop.ts';
import { MORE_ADDRESSES, VIEWS, walk } from './views.ts';

const HASHES = VIEWS.map(({ hash }) => hash);
const FAULTS = /40[134]|429|50\d|Failed to load|ERR/;
const LOOKS = { 'at 1440 px': DESKTOP, 'at 390 px': PHONE };
const CASES = Object.entries(LOOKS).flatMap(([size, viewport]) =>
  (['light', 'dark'] as const).map(
    (colorScheme) => [`${size} in ${colorScheme}`, { ...viewport, colorScheme }] as const,
  ),
);
/** Each size and each theme once. */
const TWO_CASES = [CASES[0], CASES[3]].flatMap((one) => (one === undefined ? [] : [one]));

/** Views of shops that have a past: with changes, causes and charts. */
const PASTS: readonly (readonly [create: () => MonitorOptions, hashes: readonly string[]])[] = [
  [
    () => ({ sources: createNamesShop() }),
    ['#/names', '#/names/payments.charge', '#/queues', '#/queues/orders'],
  ],
  [() => createFailures().options, ['#/failures', '#/failures/CAUSE']],
  [() => createOrder().options, ['#/workflow/order', '#/workflow/order?view=graph', '#/tasks/pay']],
];

/** No violation whatever its impact, and no need to scroll sideways. */
async function isSound({ page, sideways }: Look, name: string): Promise<void> {
  // What has just appeared may still be in motion.
  await page.evaluate('Promise.allSettled(document.getAnimations().map((animation) => animation.finished))');
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(`${axe.source}; undefined`);
  const found =
    await page.evaluate(`axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
    violations.map(({ id, nodes }) => id + ': ' + nodes.slice(0, 3).map(({ html }) => html).join(' ')))`);
  expect([name, found, await sideways()]).toEqual([name, [], 0]);
}

/** What is answered to the page: a status, `none` for no answer, `end` for a broken connection; `null`: as usual. */
type Answer = number | 'none' | 'end' | null;

async function open(options: MonitorOptions, more: LookOptions, first: Answer = null) {
  let answer = first;
  const view = await visit(
    { markers: () => [{ at: new Date(Date.now() - 600_000), text: 'v412' }], ...options },
    '',
    {
      ...{ ...more, expected: FAULTS, bypassCSP: true },
      host: {
        before: (app) =>
          void app.use('/monitor/api', (_request, response, next) => {
            if (answer === null) next();
            else if (answer === 'end') response.destroy();
            else if (answer !== 'none') {
              const problem = { ...{ type: 'about:blank', title: 'No', status: answer, detail: 'No.' } };
              const code = REFUSALS.find(([status]) => status === answer)?.[1];
              response
                .status(answer)
                .type('application/problem+json')
                .send(JSON.stringify({ ...problem, code }));
            }
          }),
      },
    },
  );
  return {
    view,
    answers(next: Answer): void {
      answer = next;
    },
  };
}

/** How a host or the monitor refuses to answer, and what the page makes of it. */
const REFUSALS = [
  [403, 'forbidden', "The app's authorize function refused this request."],
  [429, undefined, 'The page retries automatically.'],
  [503, 'source_unavailable', 'The page retries automatically.'],
] as const;

describe.skipIf(browserMissing)(browserTitle('in a browser, axe finds nothing'), { timeout: 600_000 }, () => {
  it.each(CASES)('in any view %s', async (_, options) => {
    const { view } = await open(createShop().options, options);
    await walk(view, [...HASHES, ...MORE_ADDRESSES], (hash) => isSound(view, hash));
  });

  it.each(CASES)('in views that have a past %s', async (_, options) => {
    for (const [create, hashes] of PASTS) {
      const { view } = await open(create(), options);
      await walk(view, hashes, (hash) => isSound(view, hash));
    }
  });

  it.each(CASES)('in any panel, and when the page is paused, stale or shut, %s', async (_, options) => {
    const { view, answers } = await open(createShop().options, options);
    const { page, settled } = view;
    await settled();
    for (const name of [/^Time/, /^More/]) {
      await page.getByRole('button', { name }).click();
      await settled();
      await isSound(view, String(name));
      await page.keyboard.press('Escape');
    }
    await page.keyboard.press('/');
    await page.keyboard.type('na');
    await page.getByRole('option').first().waitFor();
    await isSound(view, 'search');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await page.locator('#view-title').click();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard' }).waitFor();
    await isSound(view, 'keys');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog', { name: 'Keyboard' }).waitFor({ state: 'hidden' });
    await page.keyboard.press('l');
    await page.getByRole('button', { name: 'Paused' }).waitFor();
    await isSound(view, 'paused');
    answers('end');
    await page.getByText(/^No answer since/).waitFor();
    await isSound(view, 'stale');
    answers(401);
    await page.getByText('You are signed out. Sign in and this view comes back.').waitFor();
    await isSound(view, 'signed out');
  });

  it.each(TWO_CASES)('in a view that has no data yet, %s', async (_, options) => {
    const { view } = await open(createShop().options, options, 'none');
    for (const { hash } of VIEWS) {
      await view.go(hash);
      await view.page.locator('main [role=status]', { hasText: 'Loading …' }).first().waitFor();
      await isSound(view, hash);
    }
    await view.go('#/');
    await view.page.getByRole('heading', { name: 'Overview: Checking …' }).waitFor();
  });

  it.each(
    TWO_CASES.flatMap((one) => REFUSALS.map(([status, , told]) => [one[0], status, one[1], told] as const)),
  )('in a view that could not be read, and it says what, %s for %d', async (_, status, options, told) => {
    const { view } = await open(createShop().options, options, status);
    for (const { hash, reads } of VIEWS) {
      await view.go(hash);
      const alert = view.page.getByRole('alert').filter({ hasText: `Could not read ${reads}: ` });
      await alert.getByText(told).waitFor();
      await isSound(view, hash);
    }
    await view.go('#/');
    await view.page.getByRole('heading', { name: 'Overview: Unknown' }).waitFor();
    await view.page.getByText('The checks could not be read').waitFor();
    expect(await view.page.locator('.tone-good').count()).toBe(0);
  });

  it.each(TWO_CASES)(
    'in a view of a source that is not up to date, and it says so, %s',
    async (_, options) => {
      const { queue } = createShop();
      const status = (): SourceStatus => ({
        ...{ ok: false, asOf: new Date(Date.now() - 3_600_000), error: 'source_unavailable' },
      });
      const { tasks, workers, schedules } = queue;
      const sources = {
        ...{ ...queue, tasks: { ...tasks, status }, workers: { ...workers, status } },
        ...(schedules !== undefined && { schedules: { ...schedules, status } }),
      };
      const { view } = await open({ sources }, options);
      // The system shows each component instead.
      await walk(view, HASHES.slice(0, -1), async (hash) => {
        await view.page.getByText(/^shop does not answer; its data is 1 h( \d+ min)? old\.$/).waitFor();
        await isSound(view, hash);
      });
    },
  );

  it.each(CASES)('where a source does not answer, %s', async (_, options) => {
    const queue = memorySources({ name: 'shop' });
    const down = (): never => {
      throw new Error('down');
    };
    const tasks = { ...queue.tasks, listTasks: down, getTaskStats: down };
    const { view } = await open({ sources: { ...queue, tasks } }, options);
    await view.page.getByText(/^Could not read the figures/).waitFor();
    await view.settled();
    await isSound(view, 'the overview');
  });
});
