import { describe, expect, it } from 'vitest';
import { until } from '../router/host-kit.ts';
import { browserMissing, browserTitle, type LookOptions, loadedSearch, PHONE, visit } from './browser.ts';
import { createShop, ids } from './shop.ts';

async function open(hash: string, options: LookOptions = {}) {
  const { queue } = createShop();
  const orders = { name: 'orders', waiting: 7, consumers: 1, oldestDueAt: null, asOf: new Date() };
  const sources = { ...queue, queues: { name: 'shop', listQueues: () => [orders] } };
  const view = await visit({ sources }, hash, options);
  return { ...view, field: view.page.getByLabel('Search', { exact: true }) };
}

describe.skipIf(browserMissing)(browserTitle('the search box'), () => {
  it('opens the list from every view, by keys alone, and shows what the address asks for', async () => {
    const { page, field, go } = await open(`#/tasks/${ids.failed}`);
    await page.keyboard.press('/');
    await page.keyboard.type('name:labels.* -state:FAILURE label-7');
    // The task that is loaded meanwhile does not take the focus away.
    await page.getByRole('heading', { name: 'payments.charge' }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByText('1 task', { exact: true }).waitFor();
    expect(page.url()).toMatch(/#\/tasks\?name_prefix=labels\.&not_state=FAILURE&q=label-7$/);
    expect(await field.inputValue()).toBe('name:labels.* -state:FAILURE label-7');
    await go('#/tasks?runtime_gt=0.5&state=SUCCESS&name=a&name=b');
    await until(async () => (await field.inputValue()) === 'state:SUCCESS name:a,b runtime>500ms');
  });

  it('says where a search is wrong, and asks for nothing else instead', async () => {
    const { page } = await open('#/tasks?name=labels.print');
    const field = await loadedSearch(page);
    await page.getByText('20 tasks', { exact: true }).waitFor();
    await field.fill('name:labels.print stat:SUCCESS');
    await page.getByText('Unknown field `stat` at character 19. Did you mean `state`?').waitFor();
    expect(await field.getAttribute('aria-invalid')).toBe('true');
    expect(page.url()).toMatch(/\?name=labels\.print$/);
    await field.fill('name:labels.print state:SUCCESS');
    await until(() => page.url().endsWith('?name=labels.print&state=SUCCESS'));
    expect(await field.getAttribute('aria-invalid')).toBe('false');
  });

  it('completes fields and values by keys, with how many tasks they have', async () => {
    const { page, field } = await open('#/tasks');
    const options = page.getByRole('option');
    await field.focus();
    await options.first().waitFor();
    await page.keyboard.type('na');
    await until(
      async () =>
        (await options.count()) > 0 && (await options.first().textContent())?.startsWith('name:') === true,
    );
    await page.keyboard.press('ArrowDown');
    expect(await field.getAttribute('aria-activedescendant')).toBe('search-option-0');
    await page.keyboard.press('Enter');
    await until(async () => (await options.first().textContent()) === 'labels.print20');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    expect(await field.inputValue()).toBe('name:labels.print ');
    await page.getByText('20 tasks', { exact: true }).waitFor();
    await page.keyboard.press('Escape');
    await options.first().waitFor({ state: 'hidden' });
    expect(await field.inputValue()).toBe('name:labels.print ');
  });

  it('completes queues and workers with what waits in them and runs on them', async () => {
    const { page, field } = await open('#/');
    for (const [search, option] of [
      ['-worker:', '-celery@one1 running'],
      ['queue:or', 'orders7 waiting'],
      ['source:', 'shop'],
    ] as const) {
      await field.fill(search);
      await until(async () => (await page.getByRole('option').first().textContent()) === option);
    }
  });

  it('leaves a source out, and asks for one', async () => {
    const { page, field } = await open('#/tasks');
    await field.fill('-source:shop');
    await page.getByText('No task matches these filters').waitFor();
    await field.fill('source:shop');
    await page.getByText('23 tasks', { exact: true }).waitFor();
  });

  it('opens a task by its id', async () => {
    const { page, field } = await open('#/');
    await field.fill(ids.failed);
    await page.getByRole('option', { name: `Open task ${ids.failed}` }).click();
    await page.getByRole('heading', { name: 'payments.charge' }).waitFor();
  });

  it('has room on a phone while it is open', async () => {
    const { page, sideways } = await open('#/tasks?state=FAILURE', PHONE);
    await page.getByRole('button', { name: 'Find tasks' }).click();
    const field = await loadedSearch(page);
    await field.fill('q');
    await page.getByRole('option').first().waitFor();
    expect((await field.boundingBox())?.height).toBeGreaterThanOrEqual(44);
    for (const option of await page.getByRole('option').all()) {
      expect((await option.boundingBox())?.height).toBeGreaterThanOrEqual(40);
    }
    expect(await sideways()).toBe(0);
  });

  it('names the term that leaves nothing, and leads to the list without it', async () => {
    const { page } = await open('#/tasks?name=labels.print&queue=mail');
    await page.getByText('Without queue:mail, 20 would match.').waitFor();
    await page.getByRole('link', { name: '20', exact: true }).click();
    await page.getByText('20 tasks', { exact: true }).waitFor();
  });
});
