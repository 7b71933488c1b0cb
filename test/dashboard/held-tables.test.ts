import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { combineSources } from '../../src/index.ts';
import { memorySources } from '../../src/memory.ts';
import type { Queue, Schedule, Worker } from '../../src/model.ts';
import type { MonitorSources } from '../../src/source.ts';
import { until } from '../router/host-kit.ts';
import { browserMissing, browserTitle, visit } from './browser.ts';

const textsOf = (page: Page, selector: string) => page.locator(selector).allTextContents();

/** Asks again now, as it does when its tab is shown. */
const refresh = (page: Page) =>
  page.evaluate("document.dispatchEvent(new Event('visibilitychange'))") as Promise<void>;

/** A table of the page. While its order is held, the added row is last. */
interface Table {
  readonly hash: string;
  readonly rows: string;
  readonly before: readonly string[];
  readonly added: string;
  readonly after: readonly string[];
}

const queue = (name: string, waiting: number): Queue => ({
  ...{ name, waiting, consumers: null, oldestDueAt: null, asOf: null },
});
const schedule = (id: string, minutes: number): Schedule => ({
  ...{ id, name: id, task: 'a.b', schedule: 'daily', enabled: true },
  nextRunAt: new Date(Date.now() + minutes * 60_000),
});
const worker = (hostname: string): Worker => ({ hostname, status: 'online', lastHeartbeat: new Date() });

function changingSources() {
  const state = {
    queues: [queue('mail', 50), queue('video', 20), queue('shop', 10)],
    schedules: [schedule('first', 1), schedule('second', 2), schedule('third', 3)],
    workers: [worker('b@one'), worker('c@one')],
  };
  const name = 'shop';
  const sources: MonitorSources = {
    ...memorySources({ name }),
    queues: { name, listQueues: () => state.queues },
    schedules: { name, listSchedules: () => state.schedules },
    workers: { name, listWorkers: () => state.workers },
  };
  return { state, sources };
}

const TABLES: Readonly<Record<string, Table>> = {
  queues: {
    hash: '',
    rows: 'section:has(h2:text-is("Queues")) tbody th',
    before: ['mail', 'video', 'shop'],
    added: 'new',
    after: ['shop', 'new', 'mail'],
  },
  schedules: {
    hash: '#/schedules',
    rows: 'tbody th .wrap',
    before: ['first', 'second', 'third'],
    added: 'new',
    after: ['new', 'third', 'second'],
  },
  workers: {
    hash: '#/workers',
    rows: '.worker h2',
    before: ['b@one', 'c@one'],
    added: 'a@one',
    after: ['a@one', 'c@one'],
  },
};

describe.skipIf(browserMissing)(browserTitle('in a browser, tables of'), () => {
  it.each(Object.entries(TABLES))('%s keep their order under the pointer', async (_, table) => {
    const { state, sources } = changingSources();
    const { page, settled } = await visit({ sources }, table.hash);
    const rows = () => textsOf(page, table.rows);
    const held = [...table.before, table.added];
    await until(async () => (await rows()).length === table.before.length);
    await settled();
    expect(await rows()).toEqual(table.before);
    await page.locator(table.rows).nth(1).hover();
    state.queues = [queue('shop', 90), queue('new', 60), queue('mail', 40)];
    state.schedules = [schedule('new', 1), schedule('third', 2), schedule('second', 3)];
    state.workers = [worker('a@one'), worker('c@one')];
    await until(async () => {
      await refresh(page);
      return (await rows()).length === held.length;
    });
    expect(await rows()).toEqual(held);
    await page.mouse.move(2, 2);
    await until(async () => (await rows()).length === table.after.length);
    expect(await rows()).toEqual(table.after);
  });

  it('tasks show both of two tasks that have the same id in two sources', async () => {
    const [east, west] = [memorySources({ name: 'east' }), memorySources({ name: 'west' })];
    const timestamp = Date.now() - 1_000;
    east.record({ id: 'same', name: 'east.task', state: 'STARTED', timestamp });
    west.record({ id: 'same', name: 'west.task', state: 'STARTED', timestamp });
    const { page } = await visit({ sources: combineSources(east, west) }, '#/tasks');
    const rows = async () => (await textsOf(page, '.rows .c-name a')).toSorted();
    await until(async () => (await rows()).length === 2);
    expect(await rows()).toEqual(['east.task', 'west.task']);
    await page.locator('.rows .row').first().hover();
    west.record({ id: 'same', name: 'west.task', state: 'SUCCESS', result: 1 });
    await page.locator('.rows .row', { hasText: 'west.task' }).getByText('SUCCESS').waitFor();
    expect(await page.locator('.rows .row', { hasText: 'east.task' }).textContent()).toContain('STARTED');
    expect(await page.locator('.live').textContent()).toBe('Live');
    await page.getByRole('link', { name: 'west.task' }).click();
    await page
      .getByText('The sources east and west both have a task with this ID. This one is from east.')
      .waitFor();
  });
});
