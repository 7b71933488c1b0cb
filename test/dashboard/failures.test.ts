import { describe, expect, it } from 'vitest';
import type { MonitorOptions } from '../../src/index.ts';
import { memorySources } from '../../src/memory.ts';
import type { TaskSource } from '../../src/source.ts';
import type { TasksBody } from '../../src/wire.ts';
import { until } from '../router/host-kit.ts';
import { browserMissing, browserTitle, type LookOptions, PHONE, visit } from './browser.ts';
import { createFailures } from './failures-shop.ts';

async function open(options: MonitorOptions, hash: string, more: LookOptions = {}) {
  const view = await visit(options, hash, more);
  await view.settled();
  return view;
}

describe.skipIf(browserMissing)(browserTitle('in a browser, failures'), () => {
  it('stand by cause, as in the API, and can be sorted by what is new', async () => {
    const { options } = createFailures();
    const { page, get } = await open(options, '#/failures');
    const { stats } = (await get<TasksBody>('/api/tasks/?limit=0&stats=60&stats_causes=50')).body;
    const rows = page.locator('.causes tbody tr');
    expect(await rows.locator('.cause-count').allTextContents()).toEqual(['15', '5', '2']);
    expect(await rows.locator('.cause-name b').allTextContents()).toEqual(
      stats?.causes?.map(({ exception }) => exception),
    );
    expect(await page.locator('.failures-summary').textContent()).toBe('22 failures, 3 causes');
    expect(await rows.first().textContent()).toMatch(/^CardDeclined.* new15.*payments\.chargew1@h$/);
    expect(await rows.nth(2).getByText('new', { exact: true }).count()).toBe(0);
    await page.getByRole('columnheader', { name: 'First' }).getByRole('link').click();
    await until(async () => (await rows.first().textContent())?.includes('KeyError') === true);
    expect(page.url()).toContain('sort=new');
  });

  it('lead from a marker to a cause, its traceback and its tasks', async () => {
    const { options } = createFailures();
    const { page } = await open(options, '#/?range=1h');
    await page.getByRole('button', { name: 'Marker v412', exact: true }).first().click();
    await page.getByRole('link', { name: 'Failures since v412 ›' }).click();
    await page.getByRole('link', { name: /^KeyError/ }).click();
    await page.getByRole('heading', { name: 'KeyError' }).waitFor();
    await page.getByText('File "/app/shop/refund.py", line 31, in payments.refund').first().waitFor();
    const traceback = page.getByRole('region', { name: 'Traceback' });
    await traceback.waitFor();
    expect(await traceback.textContent()).not.toContain('site-packages');
    await page.getByRole('region', { name: 'Where' }).getByText('w1@h').waitFor();
    expect(await page.locator('.latest tbody tr').count()).toBe(5);
    const slider = page.getByRole('slider', { name: 'Failures over time' });
    await slider.press('End');
    expect(await slider.getAttribute('aria-valuetext')).toMatch(/failed|unknown/);
    await page.locator('.latest tbody a').first().click();
    await page.getByRole('heading', { name: 'payments.refund' }).waitFor();
  });

  it('count the same hour everywhere on the pages of a cause and of a name, and link to just these tasks', async () => {
    const queue = memorySources();
    const failed = { name: 'pay', state: 'FAILURE', error: 'Declined: no funds' } as const;
    for (let nth = 0; nth < 42; nth += 1) {
      const minutes = nth < 12 ? 5 + nth : 80 + nth;
      queue.record({ ...failed, id: `t${nth}`, timestamp: Date.now() - minutes * 60_000 });
    }
    const { page, go, get } = await open({ sources: queue }, '#/failures');
    const cause = (await get<TasksBody>('/api/tasks/?limit=1')).body.tasks[0]?.cause;
    for (const [hash, figure] of [
      [`#/failures/${cause}`, '12 failed'],
      ['#/names/pay', 'Failed12'],
    ] as const) {
      await go(hash);
      await page
        .getByText(figure)
        .or(page.locator('.tiles', { hasText: figure }))
        .first()
        .waitFor();
      await page.getByRole('link', { name: 'All 12 tasks ›' }).click();
      await page.getByText('12 tasks', { exact: true }).waitFor();
      expect(page.url()).toContain('range=1h');
    }
  });

  it('count what failed as a consequence apart, with a link to it', async () => {
    const { queue, options } = createFailures();
    const read = queue.tasks.getTaskStats;
    // A queue in memory has no tasks that fail because others did.
    const tasks: TaskSource = {
      ...queue.tasks,
      async getTaskStats(...asked) {
        const stats = await read?.(...asked);
        if (stats === undefined || stats === null) throw new Error('There are no statistics.');
        return { ...stats, states: { ...stats.states, FAILURE: (stats.states.FAILURE ?? 0) + 31 } };
      },
    };
    const { page, settled, go } = await open({ ...options, sources: { ...queue, tasks } }, '#/failures');
    await until(
      async () =>
        (await page.locator('.failures-summary').textContent()) ===
        '22 failures, 3 causes · +31 as a consequence',
    );
    const link = page.getByRole('link', { name: '+31 as a consequence' });
    expect(await link.getAttribute('title')).toBe('They never ran because a task they depend on failed.');
    expect(await link.getAttribute('href')).toMatch(/^#\/tasks\?.*state=FAILURE/);
    await go('#/failures?name=payments.charge');
    await settled();
    expect(await link.getAttribute('href')).toMatch(/^#\/tasks\?.*name=payments\.charge/);
  });

  it('with a long text in place of a traceback hold nothing up', async () => {
    const queue = memorySources();
    const error = Object.assign(new Error('none'), { stack: ' File "'.repeat(150_000) });
    queue.record({ id: 'a', name: 'mail.send', state: 'FAILURE', error });
    const { page } = await open({ sources: queue }, '#/tasks/a');
    await page.getByRole('region', { name: 'Traceback' }).getByText('File "').first().waitFor();
  });

  it('can be read by keys alone', async () => {
    const { options } = createFailures();
    const { page } = await open(options, '#/failures');
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'KeyError' }).waitFor();
  });

  it('say when there are none, and when a source does not group them', async () => {
    const empty = await open({ sources: memorySources() }, '#/failures?range=15m');
    await empty.page
      .getByText(/^Nothing failed in this period\.$|^It is unknown whether anything failed/)
      .waitFor();
    const plain: TaskSource = {
      name: 'mine',
      listTasks: () => ({ tasks: [], next: null, total: 0 }),
      getTask: () => null,
    };
    const { page } = await open({ sources: { tasks: plain } }, '#/failures', { expected: /501/ });
    await page.getByText('This task source does not group failures').waitFor();
    await page.getByRole('link', { name: 'List the tasks that failed' }).waitFor();
  });

  it('fit a phone, with rows of 44 px at least', async () => {
    const { options } = createFailures();
    const { page, sideways } = await open(options, '#/failures', PHONE);
    expect(await sideways()).toBe(0);
    for (const row of await page.locator('.causes tbody tr').all()) {
      expect((await row.boundingBox())?.height).toBeGreaterThanOrEqual(44);
    }
    expect(await page.locator('.causes tbody tr').first().textContent()).toContain('CardDeclined');
  });
});
