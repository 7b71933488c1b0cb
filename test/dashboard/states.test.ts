import { describe, expect, it } from 'vitest';
import type { SourceStatus } from '../../src/source.ts';
import { EXPRESS_MAJORS } from '../helpers/hosts.ts';
import { serve } from '../router/host-kit.ts';
import { axeFinds } from './axe.ts';
import { browserMissing, browserTitle, look } from './browser.ts';
import { createShop, ids } from './shop.ts';

const [major] = EXPRESS_MAJORS;
if (major === undefined) throw new Error('there is no Express');

/** Views, and what each of them reads. */
const VIEWS: readonly (readonly [hash: string, what: string])[] = [
  ['#/', 'the figures'],
  ['#/failures', 'the failures'],
  ['#/failures/nothing', 'the failures'],
  ['#/tasks', 'tasks'],
  [`#/tasks/${ids.failed}`, 'the task'],
  [`#/workflow/${ids.root}`, 'the workflow'],
  ['#/queues', 'the queues'],
  ['#/queues/orders', 'this queue'],
  ['#/names', 'the names'],
  ['#/names/payments.charge', 'this name'],
  ['#/workers', 'workers'],
  ['#/schedules', 'schedules'],
  ['#/system', 'the system'],
];

/** How a host or the monitor refuses to answer, and what the page makes of it. */
const REFUSALS = {
  403: ['forbidden', "The app's authorize function refused this request."],
  429: [undefined, 'The page retries automatically.'],
  503: ['source_unavailable', 'The page retries automatically.'],
} as const;

const LOOKS = [
  { viewport: { width: 1_440, height: 900 }, colorScheme: 'light' },
  { viewport: { width: 390, height: 844 }, colorScheme: 'dark' },
] as const;

/** @param answer status of every answer, or that there is none */
async function open(
  options: object,
  answer: keyof typeof REFUSALS | 'none' | null,
  status: () => SourceStatus = () => ({ ok: true, asOf: new Date() }),
) {
  const { queue } = createShop();
  const { tasks, workers, schedules } = queue;
  const { base } = await serve(
    major as NonNullable<typeof major>,
    {
      sources: {
        ...queue,
        tasks: { ...tasks, status },
        workers: { ...workers, status },
        ...(schedules !== undefined && { schedules: { ...schedules, status } }),
      },
    },
    {
      before: (app) =>
        void app.use('/monitor/api', (_request, response, next) => {
          if (answer === null) return next();
          if (answer === 'none') return undefined;
          const [code] = REFUSALS[answer];
          const problem = {
            type: 'about:blank',
            title: 'No',
            status: answer,
            code,
            detail: 'No answer for you.',
          };
          return response.status(answer).type('application/problem+json').send(JSON.stringify(problem));
        }),
    },
  );
  return look(base, '', { ...options, expected: /40[34]|429|50\d/, bypassCSP: true });
}

/** No axe violation, and no need to scroll sideways. */
async function isSound({ page }: Awaited<ReturnType<typeof open>>, hash: string): Promise<void> {
  await page.evaluate('Promise.allSettled(document.getAnimations().map((animation) => animation.finished))');
  expect([hash, await axeFinds(page)]).toEqual([hash, []]);
  expect([hash, await page.evaluate('document.documentElement.scrollWidth - innerWidth')]).toEqual([hash, 0]);
}

describe.skipIf(browserMissing)(browserTitle('in a browser, each view'), () => {
  it.each(LOOKS)('shows rows without data until it has any, in %j', { timeout: 120_000 }, async (options) => {
    const view = await open(options, 'none');
    for (const [hash] of VIEWS) {
      await view.go(hash);
      await view.page.locator('main [role=status]', { hasText: 'Loading …' }).waitFor();
      await isSound(view, hash);
    }
    await view.go('#/');
    await view.page.getByText('Unknown: the checks are still loading.').waitFor();
  });

  it.each(LOOKS.flatMap((options) => ([403, 429, 503] as const).map((status) => [status, options] as const)))(
    'says what it could not read for %d, and asks again, in %j',
    { timeout: 120_000 },
    async (status, options) => {
      const view = await open(options, status);
      for (const [hash, what] of VIEWS) {
        await view.go(hash);
        const alert = view.page.getByRole('alert').filter({ hasText: `Could not read ${what}: ` });
        await alert.getByText(REFUSALS[status][1]).waitFor();
        await isSound(view, hash);
      }
      await view.go('#/');
      await view.page.getByText('Unknown: the checks could not be loaded.').waitFor();
      expect(await view.page.locator('.tone-success').count()).toBe(0);
    },
  );

  it.each(LOOKS)('says which source is not up to date, in %j', { timeout: 120_000 }, async (options) => {
    const asOf = new Date(Date.now() - 3_600_000);
    const view = await open(options, null, () => ({ ok: false, asOf, error: 'source_unavailable' }));
    for (const [hash] of VIEWS.slice(0, -1)) {
      await view.go(hash);
      await view.page.getByText(/^shop does not answer; its data is 1 h( \d+ min)? old\.$/).waitFor();
      await isSound(view, hash);
    }
  });
});
