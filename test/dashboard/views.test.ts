import { describe, expect, it } from 'vitest';
import type { TasksBody } from '../../src/wire.ts';
import { until } from '../router/host-kit.ts';
import { browserMissing, browserTitle, loadedSearch, visit } from './browser.ts';
import { createShop, ids } from './shop.ts';

const open = async (hash: string, extra = 0, expected = /^never$/) => {
  const shop = createShop(extra);
  return { ...shop, ...(await visit(shop.options, hash, { expected })) };
};

describe.skipIf(browserMissing)(browserTitle('in a browser, the page'), () => {
  it('lists tasks as the API does, newest first', async () => {
    const { get, page } = await open('#/tasks');
    const { tasks, total } = (await get<TasksBody>('/api/tasks/?limit=200')).body;
    await page.getByText(`${total} tasks`).waitFor();
    const names = await page.locator('.rows .c-name a').allTextContents();
    expect(names.slice(0, 10)).toEqual(tasks.slice(0, 10).map(({ name }) => name));
    const states = await page.locator('.rows .c-state').allTextContents();
    expect(states.slice(0, 10)).toEqual(tasks.slice(0, 10).map(({ state }) => state));
  });

  it('filters by what the address says, and writes into the address what is filtered by', async () => {
    const { page, go } = await open('#/tasks?state=FAILURE');
    await page.getByText('1 task', { exact: true }).waitFor();
    expect(await page.locator('.rows .c-name a').allTextContents()).toEqual(['payments.charge']);
    await page.getByRole('button', { name: 'SUCCESS' }).click();
    await page.getByText('23 tasks', { exact: true }).waitFor();
    expect(page.url()).toContain('#/tasks?state=FAILURE&state=SUCCESS');
    await (await loadedSearch(page)).fill('label-7');
    await page.getByText('1 task', { exact: true }).waitFor();
    await until(() => page.url().includes('q=label-7'));
    await page.getByRole('link', { name: /Clear all/ }).click();
    await page.getByText('23 tasks', { exact: true }).waitFor();
    await page.getByLabel('Name').selectOption('orders.place');
    await page.getByText('1 task', { exact: true }).waitFor();
    await go('#/tasks?q=nothing-has-this');
    await page.getByText('No task matches these filters').waitFor();
  });

  it('keeps what is typed while it searches, and follows the address', async () => {
    const { page, go } = await open('#/tasks');
    const field = page.getByLabel('Search');
    await field.focus();
    // The space at the end is not searched for. More may follow.
    await page.keyboard.type('label ');
    await until(() => page.url().endsWith('q=label'));
    await page.getByText('20 tasks', { exact: true }).waitFor();
    expect(await field.inputValue()).toBe('label ');
    await go('#/tasks?q=label-7');
    await page.getByText('1 task', { exact: true }).waitFor();
    expect(await field.inputValue()).toBe('label-7');
    await go('#/tasks');
    await until(async () => (await field.inputValue()) === '');
  });

  it('sorts by the head of a column', async () => {
    const { page } = await open('#/tasks');
    await page.getByRole('button', { name: 'Task', exact: true }).click();
    await page.locator('[aria-sort="ascending"]').waitFor();
    await until(async () => (await page.locator('.rows .c-name a').first().textContent()) === 'labels.print');
    expect(page.url()).toContain('sort=name&order=asc');
    expect(await page.locator('.rows .c-name a').last().textContent()).toBe('payments.charge');
  });

  it('reads further pages while somebody scrolls, with few rows in the document', async () => {
    const { page } = await open('#/tasks?name=extra.task', 1_500);
    await page.getByText('1,500 tasks').waitFor();
    const seen = async (text: string): Promise<boolean> => {
      await page.evaluate("document.querySelector('.scroller').scrollTo(0, 1e9)");
      return (await page.locator('.rows').textContent())?.includes(text) === true;
    };
    await until(() => seen('[1499]'));
    expect(await page.locator('.rows .row').count()).toBeLessThan(80);
  });

  it('shows a task with all that is known of it', async () => {
    const { page, text } = await open(`#/tasks/${ids.failed}`);
    await page.getByRole('heading', { name: 'payments.charge' }).waitFor();
    await page.getByRole('region', { name: 'Outcome' }).getByText('CardError: card declined').waitFor();
    await page
      .getByRole('region', { name: 'Workflow' })
      .getByRole('link', { name: 'orders.place' })
      .waitFor();
    const shown = await text();
    for (const part of [
      'FAILURE',
      'CardError: card declined',
      'celery@one',
      'orders',
      ids.failed,
      ids.group,
    ]) {
      expect(shown).toContain(part);
    }
    expect(await page.locator('.timeline .badge').allTextContents()).toEqual([
      'PENDING',
      'RECEIVED',
      'STARTED',
      'FAILURE',
    ]);
    await page.getByRole('link', { name: 'Show all in the workflow ›' }).click();
    await page
      .getByRole('row', { name: /payments\.charge/ })
      .first()
      .waitFor();
    expect(page.url()).toContain(`#/workflow/${ids.failed}`);
  });

  it('says what to do about a task that nobody knows', async () => {
    const { page } = await open('#/tasks/a%2Fb%20?x', 0, /404/);
    await page.getByText('No task with this ID is in the history.').waitFor();
  });

  it('draws a workflow with many tasks folded, and opens them', async () => {
    const { page } = await open(`#/workflow/${ids.root}?view=graph`);
    const many = page.getByRole('button', { name: /20 × labels\.print, 20 of 20 done/ });
    await many.click();
    await page.getByRole('button', { name: 'Show each task' }).click();
    await until(async () => (await page.locator('.graph-svg .node').count()) > 20);
    await page.getByLabel('Find in the workflow').fill('payments');
    await page.getByText('2 found').waitFor();
    await page.getByLabel('Only what led to a failure').check();
    await until(async () => (await page.locator('.graph-svg .node').count()) < 6);
    expect(await page.locator('.graph-svg').textContent()).toContain('payments.charge');
  });

  it('shows workers, schedules and the components of the system', async () => {
    const { page, go } = await open('#/workers');
    const worker = page.getByRole('region', { name: 'celery@one' });
    await worker.getByText('1/4').waitFor();
    expect(await worker.textContent()).toContain('orders, mail');
    await go('#/schedules');
    await page.getByText(/^in 59 min/).waitFor();
    await page.getByText(/^missed by 10 min/).waitFor();
    await go('#/system');
    await page.getByRole('region', { name: 'history' }).getByText('23').first().waitFor();
  });
});
