import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { memorySources } from '../../src/memory.ts';
import type { MonitorSources } from '../../src/source.ts';
import type { TasksBody } from '../../src/wire.ts';
import { EXPRESS_MAJORS } from '../helpers/hosts.ts';
import { serve } from '../router/host-kit.ts';
import { browserMissing, browserTitle, look } from './browser.ts';
import { createFailures } from './failures-shop.ts';
import { createNamesShop } from './names-shop.ts';
import { createShop, ids } from './shop.ts';

const [major] = EXPRESS_MAJORS;
if (major === undefined) throw new Error('there is no Express');

const VIEWS: readonly (readonly [name: string, hash: string])[] = [
  ['the overview', '#/'],
  ['the overview of a fixed period', '#/?from=2026-01-02T03:00:00Z&to=2026-01-02T04:00:00Z'],
  ['the overview beside the period before', '#/?compare=1'],
  ['failures', '#/failures'],
  ['failures beside the period before', '#/failures?compare=1&name=payments.charge'],
  ['no failures', '#/failures?name=labels.print'],
  ['a cause', '#/failures/CAUSE'],
  ['a cause that nobody knows', '#/failures/nothing'],
  ['the list', '#/tasks'],
  ['the list with filters', '#/tasks?state=FAILURE&name=payments.charge&group_id=group-1'],
  ['the list with marks', '#/tasks?q=card&q=declined'],
  ['an empty list', '#/tasks?q=nothing-has-this'],
  ['a task', `#/tasks/${ids.failed}`],
  ['a task that nobody knows', '#/tasks/nobody'],
  ['a workflow', `#/workflow/${ids.root}`],
  ['a workflow as a graph', `#/workflow/${ids.root}?view=graph`],
  ['a workflow that nobody knows', '#/workflow/nobody'],
  ['queues', '#/queues'],
  ['a queue', '#/queues/orders'],
  ['a queue that nobody knows', '#/queues/nothing'],
  ['names', '#/names'],
  ['a name', '#/names/payments.charge'],
  ['a name that nobody knows', '#/names/nothing'],
  ['workers', '#/workers'],
  ['a worker', '#/workers/celery%40one'],
  ['all that runs', '#/workers?show=running'],
  ['schedules', '#/schedules'],
  ['the system', '#/system'],
  ['an address that is no view', '#/nothing'],
];

const SIZES = { '1440 px': { width: 1_440, height: 900 }, '390 px': { width: 390, height: 844 } } as const;

/** Views of shops that have a past: with changes, causes and charts. */
const PASTS = [
  [createNamesShop, ['#/names', '#/names/payments.charge', '#/queues', '#/queues/orders']],
  [() => createFailures().queue, ['#/failures', '#/failures/CAUSE']],
] as const;

/** Everything that axe finds, whatever its impact. */
async function violations(page: Page): Promise<string[]> {
  // What has just appeared may still be in motion.
  await page.evaluate('Promise.allSettled(document.getAnimations().map((animation) => animation.finished))');
  return page.evaluate(`axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations
    .map(({ id, nodes }) => id + ': ' + nodes.slice(0, 3).map(({ html }) => html).join(' ')))`);
}

/** No violation, and no need to scroll sideways. */
async function isSound(page: Page, name: string): Promise<void> {
  expect([name, await violations(page)]).toEqual([name, []]);
  expect([name, await page.evaluate('document.documentElement.scrollWidth - innerWidth')]).toEqual([name, 0]);
}

/** The id of a cause. */
async function causeOf({ get }: Awaited<ReturnType<typeof open>>): Promise<string> {
  const { stats } = (await get('/api/tasks/?stats=60&stats_causes=1')).body as TasksBody;
  const cause = stats?.causes?.[0]?.cause ?? '';
  expect(cause).not.toBe('');
  return cause;
}

async function open(sources: MonitorSources, options: object, expected = /404/) {
  let answer: number | null = null;
  const { base, get } = await serve(
    major as NonNullable<typeof major>,
    {
      sources,
      markers: () => [{ at: new Date(Date.now() - 600_000), text: 'v412', url: 'https://example.org/' }],
    },
    {
      before: (app) =>
        void app.use('/monitor/api', (_request, response, next) => {
          if (answer === null) next();
          else if (answer === 0) response.destroy();
          else response.status(answer).json({});
        }),
    },
  );
  const view = await look(base, '', { ...options, expected, bypassCSP: true });
  await view.page.evaluate(axe.source);
  const answers = (status: number): void => {
    answer = status;
  };
  return { ...view, get, answers };
}

describe.skipIf(browserMissing)(browserTitle('in a browser, axe finds nothing'), () => {
  const cases = Object.entries(SIZES).flatMap(([size, viewport]) =>
    (['light', 'dark'] as const).map(
      (colorScheme) => [size, colorScheme, { viewport, colorScheme }] as const,
    ),
  );

  it.each(cases)(
    'in any view at %s in %s',
    async (_size, _scheme, options) => {
      const view = await open(createShop().queue, options);
      const cause = await causeOf(view);
      for (const [name, hash] of VIEWS) {
        await view.go(hash.replace('CAUSE', cause));
        await view.settled();
        await isSound(view.page, name);
      }
    },
    120_000,
  );

  it.each(cases)(
    'in names and failures that have a past, at %s in %s',
    async (_size, _scheme, options) => {
      for (const [create, hashes] of PASTS) {
        const view = await open(create(), options);
        const cause = hashes.some((hash) => hash.endsWith('CAUSE')) ? await causeOf(view) : '';
        for (const hash of hashes) {
          await view.go(hash.replace('CAUSE', cause));
          await view.settled();
          await isSound(view.page, hash);
        }
      }
    },
    120_000,
  );

  it.each(cases)(
    'in any panel and state at %s in %s',
    async (_size, _scheme, options) => {
      const { page, settled, answers } = await open(
        createShop().queue,
        options,
        /404|401|Failed to load|ERR/,
      );
      await settled();
      for (const name of [/^Time/, /^More/]) {
        await page.getByRole('button', { name }).click();
        await settled();
        expect([name, await violations(page)]).toEqual([name, []]);
        await page.keyboard.press('Escape');
      }
      await page.keyboard.press('?');
      await page.getByRole('dialog', { name: 'Keyboard' }).waitFor();
      expect(['keys', await violations(page)]).toEqual(['keys', []]);
      await page.keyboard.press('Escape');
      await page.getByRole('dialog', { name: 'Keyboard' }).waitFor({ state: 'hidden' });
      await page.keyboard.press('l');
      await page.getByRole('button', { name: 'Paused' }).waitFor();
      expect(['paused', await violations(page)]).toEqual(['paused', []]);
      answers(0);
      await page.getByText(/^No answer since/).waitFor();
      expect(['stale', await violations(page)]).toEqual(['stale', []]);
      answers(401);
      await page.getByText('You are signed out. Sign in and this view comes back.').waitFor();
      expect(['signed out', await violations(page)]).toEqual(['signed out', []]);
    },
    120_000,
  );

  it.each(cases)('where a source does not answer, at %s in %s', async (_size, _scheme, options) => {
    const queue = memorySources({ name: 'shop' });
    const down = (): never => {
      throw new Error('down');
    };
    const { page, settled } = await open(
      { ...queue, tasks: { ...queue.tasks, listTasks: down, getTaskStats: down } },
      options,
      /50\d/,
    );
    await page.getByText(/^Could not read the figures/).waitFor();
    await settled();
    expect(await violations(page)).toEqual([]);
  });
});
