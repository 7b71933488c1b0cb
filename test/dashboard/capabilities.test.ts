import { describe, expect, it } from 'vitest';
import { memorySources } from '../../src/memory.ts';
import type { MonitorSources, TaskCapabilities } from '../../src/source.ts';
import { browserMissing, browserTitle, visit } from './browser.ts';

/** A list by time of which only states can be chosen, as a table with one index has it. */
const FEW: TaskCapabilities = { sorts: ['timestamp'], filters: ['states'], search: false, total: false };

/** A workflow of which one task failed. */
function shop(capabilities: TaskCapabilities): MonitorSources {
  const queue = memorySources();
  const task = { name: 'mail.send', queue: 'mail', worker: 'w1', rootId: 'root' };
  queue.recordWorker({ hostname: 'w1' });
  queue.record({ ...task, id: 'root', state: 'SUCCESS' });
  const error = new Error('the box is full');
  queue.record({ ...task, id: 'child', parentId: 'root', groupId: 'g', state: 'FAILURE', error });
  queue.recordQueue({ queue: 'mail', waiting: 3 });
  return { ...queue, tasks: { ...queue.tasks, capabilities } };
}

async function open(capabilities: TaskCapabilities, hash: string) {
  return openSources(shop(capabilities), hash);
}

async function openSources(sources: MonitorSources, hash: string, expected = /^$/) {
  return visit({ sources }, hash, { expected });
}

// `look` fails for each request that was answered with an error.
describe.skipIf(browserMissing)(browserTitle('the page of a source that can do little'), () => {
  it('shows a failed task without what it cannot list', async () => {
    const { page } = await open(FEW, '#/tasks/child');
    await page.getByText('the box is full').first().waitFor();
    await page.getByRole('link', { name: 'Show all in the workflow ›' }).waitFor();
    expect(await page.getByText('All failures of this cause ›').count()).toBe(0);
    expect(await page.getByText('About this name').count()).toBe(0);
  });

  it('shows a queue without its tasks', async () => {
    const { page, settled } = await open(FEW, '#/queues/mail');
    await page.getByRole('heading', { name: 'mail' }).waitFor();
    await settled();
    expect(await page.getByText(/^Latest tasks|^Tasks of this queue/).count()).toBe(0);
  });

  it('suggests only searches that it can do', async () => {
    const { page } = await open(FEW, '#/tasks');
    const field = page.getByRole('combobox', { name: 'Search' });
    expect(await field.getAttribute('placeholder')).toBe('Search tasks: state:FAILURE');
    await field.click();
    await page.getByRole('option').first().waitFor();
    expect(await page.getByRole('option').locator('span:first-child').allTextContents()).toEqual([
      'state:',
      'source:',
    ]);
  });

  it('shows a queue without workers, and how to have statistics, where the source has none', async () => {
    const { tasks } = memorySources();
    const { listTasks, getTask } = tasks;
    const sources = { tasks: { name: 'shop', capabilities: FEW, listTasks, getTask } };
    const { page, go, settled } = await openSources(sources, '#/queues/mail', /501/);
    await page.getByRole('heading', { name: 'mail' }).waitFor();
    await settled();
    expect(await page.getByText('Could not read').count()).toBe(0);
    for (const view of ['#/', '#/names']) {
      await go(view);
      await page.getByText('getTaskStats: (query) => summarizeTasks(tasks, query)').waitFor();
    }
  });

  it('has everything for a source that can do everything', async () => {
    const { page } = await open({}, '#/tasks/child');
    await page.getByText('All failures of this cause ›').waitFor();
    await page.getByText('About this name').waitFor();
    expect(await page.getByRole('combobox', { name: 'Search' }).getAttribute('placeholder')).toBe(
      'Search tasks: name:mail.* -state:SUCCESS runtime>5s "a phrase"',
    );
  });
});
