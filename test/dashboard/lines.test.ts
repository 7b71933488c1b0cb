import type { Locator } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import type { ScheduleSource, TaskSource, TaskStats } from '../../src/source.ts';
import { until } from '../router/host-kit.ts';
import { browserMissing, browserTitle, type LookOptions, visit } from './browser.ts';

const START = Date.UTC(2026, 10, 23, 6, 0);
const MINUTE = 60_000;
const steps = <T>(make: (step: number) => T): T[] => Array.from({ length: 60 }, (_, step) => make(step));
const waits = { waitP50: 0.1, waitP95: 0.2, waitP99: 0.3 };

/** An hour: run times are not known from 06:10 to 06:20, and nothing is known of the queue at first. */
const counted: TaskSource = {
  name: 'mine',
  listTasks: () => ({ tasks: [], next: null, total: 0 }),
  getTask: () => null,
  getTaskStats: () => ({
    ...{ stepSeconds: 60, states: { SUCCESS: 90 }, workers: [], queues: ['mail'] },
    names: [
      {
        ...{
          name: 'mail.send',
          count: 60,
          failed: 0,
          runtimeP50: 1,
          runtimeP95: 2,
          waitP50: 0.1,
          waitP95: 0.2,
        },
      },
    ],
    series: steps((step) => ({
      ...{ t: new Date(START + step * MINUTE), received: 1, succeeded: 1, failed: 0, retried: 0, ...waits },
      ...(step >= 10 && step < 20
        ? { runtimeP50: null, runtimeP95: null, runtimeP99: null }
        : { runtimeP50: 1, runtimeP95: step === 30 ? 90 : 2, runtimeP99: 3 }),
    })),
    runtimeHistogram: [
      { le: 0.5, count: 3 },
      { le: 1, count: 50 },
      { le: null, count: 7 },
    ],
    queueDepths: [
      {
        queue: 'mail',
        waiting: steps((step) => (step < 5 ? null : step)),
        oldestSeconds: steps((step) => (step < 5 ? null : step * 10)),
        ...{ sent: steps(() => 3), received: steps(() => 2), oldestAtLeast: true },
      },
    ],
  }),
};

const runs: ScheduleSource = {
  name: 'mine',
  listSchedules: () => [
    {
      ...{ id: 'nightly', name: 'Nightly', task: 'reports.nightly', schedule: 'every 30 s', enabled: true },
      nextRunAt: new Date(Date.now() + 60 * MINUTE),
      lastRuns: steps((index) => ({
        ...{ taskId: `run-${index}`, state: index === 0 ? 'FAILURE' : 'SUCCESS', runtime: 1 },
        at: new Date(START - index * MINUTE),
      })).slice(0, 20),
    },
  ],
};

async function open(hash: string, options: LookOptions = {}) {
  const monitor = {
    sources: { tasks: counted, schedules: runs },
    markers: () => [{ at: new Date(START + 30 * MINUTE), text: 'v412' }],
  };
  const view = await visit(monitor, hash, { expected: /501|404/, timezoneId: 'UTC', ...options });
  const chart = (label: string): Locator =>
    view.page
      .locator('figure.chart')
      .filter({ has: view.page.getByRole('slider', { name: label, exact: true }) });
  const query = (): string => decodeURIComponent(view.page.url().split('?')[1] ?? '');
  return { ...view, chart, query };
}

const NAME = '#/names/mail.send';

describe.skipIf(browserMissing)(browserTitle('in a browser, lines over time'), () => {
  it('show each value, and what is not known as a gap', async () => {
    const { page, chart } = await open(NAME);
    const run = chart('Run time of mail.send');
    await run.getByRole('slider').focus();
    await page.keyboard.press('Home');
    expect(await run.locator('figcaption').textContent()).toMatch(/p95 2\.0 s.*p50 1\.0 s.*06:00/);
    for (let step = 0; step < 12; step += 1) await page.keyboard.press('ArrowRight');
    expect(await run.locator('figcaption').textContent()).toMatch(/p95 –.*p50 –.*06:12/);
    const thick = run.locator('.line-thick').first();
    // One line up to the gap and one behind it, and a dotted one between them.
    expect((await thick.getAttribute('d'))?.match(/M/g)).toHaveLength(2);
    expect((await run.locator('.chart-gap').first().getAttribute('d'))?.match(/M/g)).toHaveLength(1);
  });

  it('share one cursor', async () => {
    const { page, chart } = await open(NAME);
    const [tasks, run] = [chart('Tasks of mail.send'), chart('Run time of mail.send')];
    const slider = tasks.getByRole('slider');
    const { width = 0 } = (await slider.boundingBox()) ?? {};
    await slider.hover({ position: { x: (width * 30.5) / 60, y: 40 } });
    await until(async () =>
      /p95 1 min 30 s.*06:30/.test((await run.locator('figcaption').textContent()) ?? ''),
    );
    expect(await run.locator('.chart-cursor').count()).toBe(1);
    await page.mouse.move(0, 0);
    await until(async () => (await run.locator('.chart-cursor').count()) === 0);
  });

  it('have markers, which the choice of the period has, too', async () => {
    const { page, chart, query } = await open(NAME);
    await chart('Run time of mail.send').getByRole('button', { name: 'Marker v412' }).click();
    const link = page.getByRole('link', { name: 'Failures since v412 ›' });
    expect(await link.getAttribute('href')).toMatch(/^#\/failures\?name=mail\.send&from=2026-11-23T06%3A30/);
    await page.getByRole('button', { name: /^Time/ }).click();
    await page
      .getByRole('list', { name: 'Since a marker' })
      .getByText(/^Since v412 /)
      .click();
    await until(() => /from=2026-11-23T06:30:00/.test(query()));
  });

  it.each([
    [60, ['1.0 s', '–', '2.0 s', '8.0 s', '3.0 s', '9.0 s']],
    [120, ['1.0 s', '–', '2.0 s', '–', '3.0 s', '–']],
  ])(
    'of the period before lie under these, if its steps have the same length: %d s',
    async (length, rows) => {
      /** The last steps lie under each other. */
      const getTaskStats: TaskSource['getTaskStats'] = ({ now }) => {
        const isNow = now.getTime() > Date.now() - 30 * MINUTE;
        const runtimes = isNow ? [1, 2, 3] : [8, 9];
        const stepSeconds = isNow ? 60 : length;
        return {
          ...{ stepSeconds, states: {}, names: [], workers: [], queues: [] },
          series: runtimes.map((runtime, step) => ({
            ...{ t: new Date(START + step * MINUTE), received: 9, succeeded: 9, failed: 0, retried: 0 },
            ...{ ...waits, runtimeP50: runtime, runtimeP95: runtime, runtimeP99: runtime },
          })),
        };
      };
      const sources = { tasks: { ...counted, getTaskStats } };
      const { page } = await visit({ sources }, '#/names/mail.send?compare=1', { expected: /501|404/ });
      const label = 'Run time of mail.send';
      await page
        .locator('figure.chart')
        .filter({ has: page.getByRole('slider', { name: label, exact: true }) })
        .getByRole('button', { name: 'As table' })
        .click();
      const cells = page.getByRole('region', { name: label }).locator('tbody tr');
      const shown = await cells.evaluateAll((all) =>
        all.flatMap((row) => [...row.querySelectorAll('td')].slice(2).map(({ textContent }) => textContent)),
      );
      expect(shown).toEqual(rows);
    },
  );

  it('of a queue have a panel for how much waits and one for how long, over one axis', async () => {
    const { page, chart } = await open('#/queues/mail');
    const waiting = chart('Waiting in mail');
    await waiting.getByRole('slider').press('End');
    expect(await waiting.locator('figcaption').textContent()).toMatch(
      /waiting 59.*oldest due ≥ 9 min 50 s.*06:59/,
    );
    expect(await waiting.locator('.chart-panel').count()).toBe(2);
    await waiting.getByRole('slider').press('Home');
    expect(await waiting.locator('figcaption').textContent()).toMatch(/waiting –.*oldest due –.*06:00/);
    await waiting.getByRole('button', { name: 'As table' }).click();
    const rows = page.getByRole('region', { name: 'Waiting in mail' }).getByRole('row');
    expect(await rows.first().textContent()).toBe('Timewaitingoldest due');
    expect(await rows.nth(6).textContent()).toBe('06:055≥ 50 s');
  });

  it('of a queue without known ages have no panel for them, and what is not recorded has no axes', async () => {
    const getTaskStats: TaskSource['getTaskStats'] = (...asked) => {
      const stats = counted.getTaskStats?.(...asked) as TaskStats;
      const depths = { queue: 'mail', waiting: steps(() => 3), oldestSeconds: steps(() => null) };
      return { ...stats, queueDepths: [depths] };
    };
    const sources = { tasks: { ...counted, getTaskStats } };
    const { page } = await visit({ sources }, '#/queues/mail', { expected: /501|404/ });
    await page.getByRole('slider', { name: 'Waiting in mail' }).waitFor();
    expect(await page.locator('.chart-panel').count()).toBe(1);
    expect(await page.locator('.panel', { hasText: 'In and out' }).textContent()).toBe(
      'In and outNot recorded in this period.',
    );
  });
});

describe.skipIf(browserMissing)(browserTitle('in a browser, a histogram'), () => {
  it('says how many there are of each length, by keys and as a table', async () => {
    const { page, chart } = await open(NAME);
    const times = chart('Run times of mail.send');
    const slider = times.getByRole('slider');
    await slider.press('Home');
    expect(await slider.getAttribute('aria-valuetext')).toBe('< 500 ms: 3 tasks');
    await slider.press('End');
    expect(await slider.getAttribute('aria-valuetext')).toBe('≥ 1.0 s: 7 tasks');
    await times.getByRole('button', { name: 'As table' }).click();
    const rows = page.getByRole('region', { name: 'Run times of mail.send' }).getByRole('row');
    expect(await rows.nth(2).textContent()).toBe('< 1.0 s50 (83 %)');
  });
});

describe.skipIf(browserMissing)(browserTitle('in a browser, squares'), () => {
  it.each([
    [1_440, 20],
    [390, 7],
  ] as const)('at %d px lead to the latest %d runs, the last one at the end', async (width, shown) => {
    const { page } = await open('#/schedules', { viewport: { width, height: 900 } });
    const squares = page.locator('.squares a:visible');
    await until(async () => (await squares.count()) === shown);
    expect(await squares.last().getAttribute('href')).toMatch(/^#\/tasks\/run-0/);
    expect(await squares.last().getAttribute('aria-label')).toMatch(/FAILURE/);
    if (width === 390) expect((await squares.last().boundingBox())?.height).toBeGreaterThanOrEqual(44);
  });
});
