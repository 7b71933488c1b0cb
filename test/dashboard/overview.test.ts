import { describe, expect, it } from 'vitest';
import type { MemorySources } from '../../src/memory.ts';
import { memorySources } from '../../src/memory.ts';
import type { MonitorSources, TaskSource, TaskStats } from '../../src/source.ts';
import type { ComponentsBody } from '../../src/wire.ts';
import { playOnMemory } from '../incident/memory-incident.ts';
import type { Host } from '../router/host-kit.ts';
import { browserMissing, browserTitle, type LookOptions, visit } from './browser.ts';

const MINUTE = 60_000;

const open = (sources: MonitorSources, options: LookOptions = {}) => visit({ sources }, '#/', options);

/** How many rules the API names, and how many of them could not judge. */
async function rulesOf({ get }: Host): Promise<{ all: number; unknown: number }> {
  const rules = (await get<ComponentsBody>('/api/components/')).body.findings?.rules ?? [];
  return { all: rules.length, unknown: rules.filter(({ status }) => status === 'unknown').length };
}

/** Two hours of payments, one in a minute, and nothing wrong. */
function calm(): { readonly queue: MemorySources; readonly ago: (minutes: number) => number } {
  const queue = memorySources({ name: 'shop' });
  const now = Date.now();
  const ago = (minutes: number): number => now - minutes * MINUTE;
  for (let minute = 120; minute > 0; minute--) run(queue, `pay ${minute}`, ago(minute), 'SUCCESS');
  queue.recordWorker({ hostname: 'w2@h', concurrency: 4, active: 0, interval: 3_600 });
  return { queue, ago };
}

function run(queue: MemorySources, id: string, at: number, state: 'SUCCESS' | 'FAILURE'): void {
  const task = { id, name: 'payments.charge', queue: 'payments', worker: 'w2@h' };
  queue.record({ ...task, state: 'PENDING', timestamp: at });
  queue.record({ ...task, state: 'STARTED', timestamp: at + 5 });
  queue.record({
    ...task,
    state,
    timestamp: at + 905,
    runtime: 0.9,
    error: state === 'FAILURE' ? 'CardDeclined' : null,
  });
}

/** The incident of the issue: one name fails, one worker hangs, one queue waits. */
function incident(): MemorySources {
  const { queue, ago } = calm();
  for (let minute = 20; minute > 0; minute--) {
    for (let more = 0; more < 5; more++)
      run(queue, `x ${minute} ${more}`, ago(minute), more === 0 ? 'FAILURE' : 'SUCCESS');
  }
  for (let slot = 0; slot < 4; slot++) {
    queue.record({
      id: `hangs ${slot}`,
      state: 'STARTED',
      name: 'video.encode',
      worker: 'w2@h',
      timestamp: ago(49),
    });
  }
  for (let waiting = 0; waiting < 3_000; waiting++) {
    queue.record({
      id: `waits ${waiting}`,
      state: 'PENDING',
      name: 'mail.send',
      queue: 'default',
      timestamp: ago(25),
    });
  }
  queue.recordWorker({ hostname: 'w2@h', concurrency: 4, active: 4, interval: 3_600 });
  return queue;
}

/** Payments fail since 20 minutes, and mail takes three times as long as in the hour before. */
function changed(): MemorySources {
  const { queue, ago } = calm();
  for (let minute = 119; minute > 0; minute--) {
    const task = { name: 'mail.send', queue: 'mail', worker: 'w2@h', timestamp: ago(minute) };
    const [count, runtime] = minute > 60 ? [1, 1] : [2, 3];
    for (let nth = 0; nth < count; nth++) {
      queue.record({ ...task, id: `mail ${minute} ${nth}`, state: 'SUCCESS', runtime });
    }
  }
  for (let minute = 20; minute > 0; minute--) run(queue, `x ${minute}`, ago(minute), 'FAILURE');
  return startingAt(queue, new Date(ago(121)));
}

/** The same with a history that has been running since then. */
function startingAt(queue: MemorySources, since: Date): MemorySources {
  const { history } = queue;
  const getHistoryStats: typeof history.getHistoryStats = async (context) => ({
    ...(await history.getHistoryStats(context)),
    since,
  });
  return { ...queue, history: { ...history, getHistoryStats } };
}

/** The same with other statistics. */
function withStats(queue: MemorySources, change: (stats: TaskStats) => TaskStats): MonitorSources {
  const { tasks } = queue;
  const getTaskStats: TaskSource['getTaskStats'] = async (...asked) => {
    const stats = await tasks.getTaskStats?.(...asked);
    if (stats === undefined) throw new Error('There are no statistics.');
    return change(stats);
  };
  return { ...queue, tasks: { ...tasks, getTaskStats } };
}

describe.skipIf(browserMissing)(browserTitle('in a browser, the verdict of the overview'), () => {
  it('is green only when every rule has looked and found nothing', async () => {
    const view = await open(calm().queue);
    const verdict = view.page.locator('.verdict-text');
    const { all, unknown } = await rulesOf(view);
    expect(unknown).toBe(0);
    await view.page.getByRole('heading', { name: 'Overview: All good' }).waitFor();
    await view.page.getByText(`${all} of ${all} checks ran`, { exact: true }).waitFor();
    expect(await verdict.getAttribute('class')).toContain('tone-good');
  });

  it('names what is wrong, since when, and leads there', async () => {
    const view = await open(incident());
    const { page, settled } = view;
    const { all } = await rulesOf(view);
    await page.getByRole('heading', { name: 'Overview: 3 problems' }).waitFor();
    const problems = page.getByRole('list', { name: 'Problems' }).getByRole('listitem');
    const texts = await problems.allTextContents();
    expect(texts).toHaveLength(3);
    expect(texts.join('\n')).toMatch(/w2@h: 4 of 4 slots hold the same tasks, 49 min/);
    // The day is shown, too, where it is not today.
    expect(texts.join('\n')).toMatch(
      /payments\.charge fails 1\d % \(before 0 %\) since (?:\d{4}-\d\d-\d\d )?\d\d:\d\d/,
    );
    expect(texts.join('\n')).toMatch(/Queue default: oldest due 25 min ago, 3,000 tasks waiting/);
    await page.getByText(`${all - 1} of ${all} checks ran`, { exact: true }).click();
    await page.getByText('Long runs: It needs 20 runs of video.encode within a day.').waitFor();
    await page.getByRole('link', { name: /payments.charge fails/ }).click();
    await settled();
    expect(page.url()).toContain('#/failures?name=payments.charge&from=');
    await page.getByText('20 failures').waitFor();
    await page.getByText('Only name payments.charge').waitFor();
  });

  it('counts findings about the same subject or tasks as one problem', async () => {
    const { page, settled, text } = await open(playOnMemory().options.sources as MonitorSources);
    await page.getByRole('heading', { name: 'Overview: 3 problems' }).waitFor();
    const problems = page.getByRole('list', { name: 'Problems' }).getByRole('link');
    expect(await problems.allTextContents()).toEqual([
      expect.stringMatching(/w2@shop: 4 of 4 slots hold .* since .* · 4 video\.encode tasks run for/),
      expect.stringMatching(/Queue mail: oldest due \d+ min ago, .* since .* · growing for \d+ min, from/),
      expect.stringMatching(/payments\.charge fails \d+ % \(before .* %\) since/),
    ]);
    await problems.nth(1).click();
    await settled();
    await page.getByText(/^No worker consumes mail · \d+ waiting · growing since [\d: -]+$/).waitFor();
    const [waiting] = /\d+(?= waiting)/.exec(await text()) ?? [];
    expect(await page.locator('.tiles div').first().textContent()).toBe(`Waiting${waiting}`);
    await page.getByRole('link', { name: `All ${waiting} tasks` }).click();
    await page.getByText(`${waiting} tasks`, { exact: true }).waitFor();
  });

  it('says why a queue waits', async () => {
    const { queue, ago } = calm();
    const mail = { name: 'mail', waiting: 3, consumers: 0, oldestDueAt: new Date(ago(25)), asOf: new Date() };
    const { page } = await open({ ...queue, queues: { name: 'shop', listQueues: () => [mail] } });
    await page
      .getByRole('link', { name: /Queue mail: oldest due 25 min ago, .* · Queue mail has no consumer\./ })
      .waitFor();
  });

  it('says how many slots are busy, unless a worker does not say it', async () => {
    const { queue } = calm();
    const { page } = await open(queue);
    const line = page.getByRole('link', { name: 'Workers 1/1' });
    await line.waitFor();
    expect(await line.getAttribute('title')).toBe('0 of 4 slots busy');
    // There is only one.
    expect(await page.getByLabel('Source').count()).toBe(0);
    queue.recordWorker({ hostname: 'w3@h', concurrency: 2, interval: 3_600 });
    const other = await open(queue);
    const both = other.page.getByRole('link', { name: 'Workers 2/2' });
    await both.waitFor();
    expect(await both.getAttribute('title')).toBe('6 slots');
  });

  it('says how many failed by themselves, and how many as a consequence', async () => {
    const queue = changed();
    const states = { SUCCESS: 9, FAILURE: 31 };
    const { page } = await open(withStats(queue, (stats) => ({ ...stats, states })));
    await page.getByRole('button', { name: /^failed 20$/ }).waitFor();
    await page.getByRole('link', { name: '+11 as a consequence' }).click();
    await page.waitForURL(/#\/tasks\?state=FAILURE&range=1h$/);
  });

  it('marks run times that are known to the accuracy of a class only', async () => {
    const { page, go } = await open(
      withStats(changed(), (stats) => ({ ...stats, computedFrom: 'rollups', countedSince: null })),
    );
    const mail = page.locator('table.named tbody tr', { hasText: 'mail.send' });
    for (const view of ['#/', '#/names']) {
      await go(view);
      await mail.getByText('≈ 3.0 s').first().waitFor();
    }
    await go('#/names/mail.send');
    await page.locator('.tiles').getByText('≈ 3.0 s').first().waitFor();
  });

  it('stands above causes, and names by what changed', async () => {
    const { page, go } = await open(changed());
    const causes = page.locator('.top-causes li');
    await causes.first().waitFor();
    expect(await causes.allTextContents()).toEqual(['CardDeclinednew20']);
    const rows = page.locator('table.named tbody tr');
    await rows.getByText('▲ 3.0×').waitFor();
    expect(await rows.locator('th').allTextContents()).toEqual(['mail.send', 'payments.charge']);
    await page.getByText('Workers 1/1').waitFor();
    await go('#/?compare=1');
    await page.getByRole('button', { name: /^failed 20 ▲ from 0$/ }).waitFor();
    await causes.first().getByRole('link').click();
    await page.getByRole('heading', { name: 'CardDeclined' }).waitFor();
  });

  it('compares no counts with a period that begins before the history', async () => {
    const { page, go } = await open(startingAt(changed(), new Date(Date.now() - 80 * MINUTE)));
    await go('#/?compare=1');
    await page.getByText(/^History starts .*: partial comparison$/).waitFor();
    const row = page.getByRole('row', { name: /^mail\.send/ });
    await row.getByText('▲ 3.0×').waitFor();
    expect(await row.locator('.change').allTextContents()).toEqual([' ▲ 3.0× ']);
    await page.getByRole('button', { name: /^failed 20$/ }).waitFor();
  });

  it('compares nothing with a period of which less than half was observed', async () => {
    const sources = withStats(changed(), (stats) => {
      // Observed for 70 minutes: of the hour before this one, the last ten.
      const isKnown = (t: Date): boolean => Date.now() - t.getTime() < 70 * MINUTE;
      const unknown = { received: null, succeeded: null, failed: null, retried: null };
      return {
        ...stats,
        series: stats.series.map((step) => (isKnown(step.t) ? step : { ...step, ...unknown })),
      };
    });
    const { page, go } = await open(sources);
    const row = page.getByRole('row', { name: /^mail\.send/ });
    await row.waitFor();
    await go('#/?compare=1');
    await page.getByRole('button', { name: /^failed 20$/ }).waitFor();
    await row.waitFor();
    expect(await page.locator('.change').count()).toBe(0);
    await go('#/names/mail.send?compare=1');
    await page.locator('.tiles').waitFor();
    expect(await page.locator('.change').count()).toBe(0);
  });

  it('compares names and queues with the period before', async () => {
    const sources: MonitorSources = {
      ...withStats(changed(), (stats) => {
        const unknown = stats.series.map(() => null);
        const waiting = stats.series.map(({ t }) => (Date.now() - t.getTime() > 50 * MINUTE ? 4 : 6));
        return { ...stats, queueDepths: [{ queue: 'mail', waiting, oldestSeconds: unknown }] };
      }),
      queues: {
        name: 'shop',
        listQueues: () => [
          { ...{ name: 'mail', waiting: 12, consumers: null }, oldestDueAt: null, asOf: new Date() },
        ],
      },
    };
    const { page, go } = await open(sources);
    const queue = page.getByRole('row', { name: /^mail (▲ 3.0× )?12/ });
    const name = page.getByRole('row', { name: /^mail\.send/ });
    await queue.waitFor();
    await name.waitFor();
    expect(await queue.locator('.change').count()).toBe(0);
    expect(await name.locator('.change').count()).toBe(1);
    await go('#/?compare=1');
    await queue.getByText('▲ 3.0×').waitFor();
    // Tasks and run time.
    expect(await name.locator('.change').count()).toBe(2);
  });

  it('is not green while rules lack data, and names them', async () => {
    const view = await open(memorySources());
    const { page } = view;
    const { all, unknown } = await rulesOf(view);
    await page.getByRole('heading', { name: 'Overview: No known problem' }).waitFor();
    expect(await page.locator('.verdict-text').getAttribute('class')).toContain('tone-waiting');
    await page.getByText(`${all - unknown} of ${all} checks ran`, { exact: true }).click();
    await page.getByText(/Failure rates: It needs data from the previous hour\./).waitFor();
  });

  it('begins with the hint that explains most, until it is dismissed', async () => {
    const { queue } = calm();
    const part = (key: string, ...hints: string[]) => ({
      ...{ key, name: key, enabled: true, status: 'up' as const, config: { hints } },
    });
    const listed = [
      part('backend', 'Set result_extended.'),
      part('collector', 'Start it with -E.', 'Set more.'),
    ];
    const components = { name: 'shop', listComponents: () => listed };
    const { page } = await open({ ...queue, components });
    const section = page.getByRole('region', { name: 'Verdict' });
    await section.getByText('Start it with -E.').waitFor();
    expect(await section.textContent()).toMatch(/checks ranStart it with -E\./);
    expect(await section.getByText('Set result_extended.').count()).toBe(0);
    await page.getByRole('button', { name: 'Dismiss: Start it with -E.' }).click();
    await section.getByText('Set more.').waitFor();
    expect(await section.textContent()).toMatch(/checks ranSet more\./);
    await section.getByRole('link', { name: '1 more hint' }).click();
    await page.getByText('Set result_extended.').waitFor();
  });

  it.each([
    ['24 h', 1_800, 'per 30 min', '00:00', /^00:00: /],
    ['7 d', 7_200, 'per 2 h', 'Nov 1', /^2026-11-01 00:00: /],
    ['90 d', 86_400, 'per day', 'Nov 1', /^2026-11-01 00:00: /],
  ] as const)('labels a chart of %s', async (span, stepSeconds, unit, first, title) => {
    const minutes = { '24 h': 1_440, '7 d': 10_080, '90 d': 129_600 }[span];
    const counted: TaskSource = {
      name: 'mine',
      listTasks: () => ({ tasks: [], next: null, total: 0 }),
      getTask: () => null,
      getTaskStats: () => ({
        ...{ stepSeconds, states: { SUCCESS: 90 }, names: [], workers: [], queues: [] },
        ...{ computedFrom: 'rollups', countedSince: new Date('2026-08-01') },
        series: Array.from({ length: (minutes * 60) / stepSeconds + 1 }, (_, step) => ({
          t: new Date(Date.UTC(2026, 10, 1) + step * stepSeconds * 1_000),
          ...{ received: 1, succeeded: 1 + (step % 5), failed: step % 2, retried: 0 },
        })),
      }),
    };
    const { page, go } = await open({ tasks: counted }, { expected: /501/, timezoneId: 'UTC' });
    await go(`#/?minutes=${minutes}`);
    await page.getByText(unit, { exact: true }).waitFor();
    await page.getByRole('slider', { name: 'Tasks over time' }).waitFor();
    expect(await page.locator('.chart-times span').first().textContent()).toBe(first);
    await page.getByRole('slider', { name: 'Tasks over time' }).press('Home');
    expect(await page.getByRole('slider').getAttribute('aria-valuetext')).toMatch(title);
  });

  it('says that nothing is known yet of a source without data for the rules', async () => {
    const tasks: TaskSource = {
      name: 'mine',
      listTasks: () => ({ tasks: [], next: null, total: 0 }),
      getTask: () => null,
    };
    const { page } = await open({ tasks }, { expected: /501/ });
    await page.getByRole('heading', { name: 'Overview: Unknown' }).waitFor();
    await page.getByText(/^[01] of \d+ checks ran$/).waitFor();
    expect(await page.locator('.tone-good.verdict-text').count()).toBe(0);
  });
});
