import { describe, expect, it } from 'vitest';
import { type MemorySources, memorySources } from '../../src/memory.ts';
import { until } from '../router/host-kit.ts';
import { browserMissing, browserTitle, DESKTOP, PHONE, visit } from './browser.ts';

const MINUTE = 60_000;

function addWorker(queue: MemorySources, hostname: string, concurrency = 2): void {
  queue.recordWorker({ hostname, concurrency, queues: ['default'], interval: 3_600 });
}

function start(queue: MemorySources, id: string, name: string, worker: string, minutes: number): void {
  const timestamp = Date.now() - minutes * MINUTE;
  queue.record({ id, name, worker, args: [`${id}.mov`], queue: 'default', state: 'STARTED', timestamp });
}

function runBefore(queue: MemorySources, name: string, seconds: number): void {
  for (let run = 0; run < 20; run++) {
    const timestamp = Date.now() - 100 * MINUTE + run * 1_000;
    queue.record({ id: `${name} ${run}`, name, state: 'STARTED', timestamp });
    queue.record({ id: `${name} ${run}`, state: 'SUCCESS', timestamp: timestamp + seconds * 1_000 });
  }
}

/** One worker takes nothing else, another runs a task for longer than usual, and a third has nothing to do. */
function createFleet(): MemorySources {
  const queue = memorySources({ name: 'jobs' });
  for (const hostname of ['w1@h', 'w2@h', 'w3@h']) addWorker(queue, hostname);
  runBefore(queue, 'video.encode', 60);
  runBefore(queue, 'mail.send', 1);
  start(queue, 'f0', 'video.encode', 'w2@h', 49.5);
  start(queue, 'f1', 'video.encode', 'w2@h', 47.5);
  start(queue, 'm1', 'mail.send', 'w3@h', 0.3);
  start(queue, 'n1', 'new.kind', 'w3@h', 0.2);
  return queue;
}

describe.skipIf(browserMissing)(browserTitle('in a browser, workers'), () => {
  it('show what each runs against what is usual, the stuck one first', async () => {
    const { page } = await visit({ sources: createFleet() }, '#/workers');
    const cards = page.locator('section.worker');
    await until(async () => (await cards.count()) === 3);
    expect(await cards.locator('h2').allTextContents()).toEqual(['w2@h', 'w3@h', 'w1@h']);
    const stuck = await cards.first().textContent();
    expect(stuck).toMatch(
      /w2@h.*stuck.*2\/2.*default.*video\.encode.*f0\.mov.*49 min.*p95 ≈ 1 min.*\(24 h\)/,
    );
    expect(await cards.nth(1).textContent()).toMatch(/2\/2.*p95 ≈ 1/);
    expect(await cards.nth(1).textContent()).toContain('usual time unknown');
    expect(await cards.nth(2).textContent()).toContain('Nothing is running.');
    await page.getByRole('link', { name: 'All running 4' }).click();
    const rows = page.locator('.running-table tbody th');
    await until(async () => (await rows.count()) === 4);
    const names = await rows.locator('a').allTextContents();
    expect(names).toEqual(['video.encode', 'video.encode', 'mail.send', 'new.kind']);
    await rows.first().getByRole('link').click();
    await page.getByRole('heading', { name: 'video.encode' }).waitFor();
  });

  it('run for as long as the last answer says, and are not slow before one says so', async () => {
    const queue = createFleet();
    start(queue, 'f2', 'video.encode', 'w1@h', 0);
    const { page, later } = await visit({ sources: queue }, '#/workers', { clock: true });
    const task = page.locator('.running > li, tbody tr', { hasText: 'f2.mov' }).locator('.elapsed b');
    await task.waitFor();
    await page.keyboard.press('l');
    await page.getByRole('button', { name: 'Paused' }).waitFor();
    await later(10 * MINUTE);
    await page.locator('.view-head .age', { hasText: /^1\d min/ }).waitFor();
    for (const view of ['By worker', 'All running 5']) {
      await page.getByRole('link', { name: view }).click();
      await page.locator('.switch [aria-current]', { hasText: view }).waitFor();
      expect(await task.getAttribute('class')).toContain('tone-running');
      expect(await task.textContent()).toMatch(/^(?:< 1|[\d.]+) s$/);
    }
  });

  it('are reached from the finding that names one', async () => {
    const { page } = await visit({ sources: createFleet() });
    await page.getByRole('link', { name: /w2@h: 2 of 2 slots hold the same tasks/ }).click();
    await page.getByRole('heading', { name: 'w2@h', level: 1 }).waitFor();
    const running = page.locator('section.worker').getByRole('list', { name: 'Running now' });
    await until(async () => (await running.getByRole('listitem').count()) === 2);
    expect(await page.locator('section.worker').count()).toBe(1);
  });

  it('are a table that can be sorted where there are more than ten', async () => {
    const queue = createFleet();
    for (let index = 10; index < 20; index++) addWorker(queue, `x${index}@h`, index);
    const { page } = await visit({ sources: queue }, '#/workers');
    const names = () => page.locator('.worker-table tbody th a').allTextContents();
    await until(async () => (await names()).length === 13);
    expect((await names()).slice(0, 2)).toEqual(['w2@h', 'w3@h']);
    await page.getByRole('columnheader', { name: 'Worker' }).getByRole('link').click();
    await until(async () => (await names())[0] === 'w1@h');
    await page.getByRole('columnheader', { name: 'Worker' }).getByRole('link').click();
    await until(async () => (await names())[0] === 'x19@h');
    expect(await page.getByRole('columnheader', { name: 'Worker' }).getAttribute('aria-sort')).toBe(
      'descending',
    );
  });

  it('say when there are none', async () => {
    const { page } = await visit({ sources: memorySources() }, '#/workers');
    await page.getByText('No worker seen yet.').waitFor();
  });
});

describe.skipIf(browserMissing)(browserTitle('in a browser, schedules'), () => {
  it('show missed ones first, in plain words, with their latest runs and a link to each', async () => {
    const at = (minutes: number) => new Date(Date.now() - minutes * MINUTE);
    const queue: MemorySources = memorySources({
      name: 'jobs',
      schedules: () => [
        {
          ...{ id: 'a', name: 'hourly', task: 'report', schedule: '0 * * * * (m/h/dM/MY/d)', enabled: true },
          nextRunAt: at(-10),
          lastRuns: [
            { taskId: 'r3', state: 'FAILURE', at: at(50), runtime: 2 },
            { taskId: 'r2', state: 'SUCCESS', at: at(110), runtime: 1.5 },
            { taskId: 'r1', state: null, at: at(170) },
          ],
        },
        { ...{ id: 'b', name: 'nightly', schedule: '0 3 * * *', enabled: true }, nextRunAt: at(15.3) },
      ],
    });
    queue.record({ id: 'r3', name: 'report', state: 'FAILURE', error: new Error('no paper') });
    const { page, go, sideways } = await visit({ sources: queue }, '#/schedules');
    for (const { viewport } of [DESKTOP, PHONE]) {
      await page.setViewportSize(viewport);
      await go('#/schedules');
      const rows = page.locator('.schedules tbody tr');
      await until(async () => (await rows.count()) === 2);
      expect(await rows.first().textContent()).toMatch(/nightly.*Daily at 03:00.*missed by 15 min/);
      expect(await rows.nth(1).textContent()).toMatch(/hourly.*Hourly at :00/);
      const runs = page.getByRole('list', { name: 'Latest runs of hourly' }).getByRole('link');
      expect(await runs.count()).toBe(3);
      expect(await runs.first().getAttribute('aria-label')).toMatch(/^unknown, /);
      expect(await sideways()).toBe(0);
      await page.getByRole('link', { name: /^FAILURE, .*, 2\.0 s$/ }).click();
      await page.getByText('no paper').first().waitFor();
    }
  });
});
