import { EventEmitter, once } from 'node:events';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { combineSources } from '../../src/index.ts';
import { memorySources } from '../../src/memory.ts';
import { until } from '../router/host-kit.ts';
import { browserMissing, browserTitle, type LookOptions, PHONE, visit } from './browser.ts';
import { streamedBytes } from './network.ts';
import { createShop } from './shop.ts';

const open = async (hash: string, options: LookOptions = {}) => {
  const shop = createShop();
  return { ...shop, ...(await visit(shop.options, hash, options)) };
};

/** Requests for statistics from now on, as their queries. */
function statsOf(page: Page): URLSearchParams[] {
  const asked: URLSearchParams[] = [];
  page.on('request', (request) => {
    const { pathname, searchParams } = new URL(request.url());
    if (/\/api\/(components|tasks)\/$/.test(pathname) && searchParams.has('stats')) asked.push(searchParams);
  });
  return asked;
}

const queryOf = (page: Page): URLSearchParams => new URLSearchParams(page.url().split('?')[1] ?? '');

describe.skipIf(browserMissing)(browserTitle('in a browser, the frame'), () => {
  it('shows a period, keeps it in the address and takes it into every view', async () => {
    const { page } = await open('#/');
    const asked = statsOf(page);
    await page.getByRole('button', { name: 'Time: Last 1 h' }).click();
    await page.getByRole('button', { name: 'Last 15 min' }).click();
    await page.getByRole('button', { name: 'Time: Last 15 min' }).waitFor();
    await until(() => asked.some((query) => query.get('stats') === '15' && !query.has('stats_until')));
    for (const [view, path] of [
      ['Tasks', '#/tasks'],
      ['Workers', '#/workers'],
      ['Overview', '#/'],
    ] as const) {
      await page.getByRole('link', { name: view, exact: true }).click();
      await until(() => page.url().endsWith(`${path}?range=15m`));
    }
    await page.reload();
    await page.getByRole('button', { name: 'Time: Last 15 min' }).waitFor();
  });

  it('shows any fixed period, shifts it, and goes back to live', async () => {
    const period = 'from=2026-01-02T03:00:00.000Z&to=2026-01-02T04:00:00.000Z';
    const { page } = await open('#/workers', { timezoneId: 'UTC' });
    const asked = statsOf(page);
    await page.getByText('Now', { exact: true }).waitFor();
    await page.evaluate(`location.hash = '#/?${period}'`);
    await page.getByText('Fixed range · Back to live').waitFor();
    await until(() => asked.some((query) => query.get('stats_until') === '2026-01-02T04:00:00.000Z'));
    expect(asked.at(-1)?.get('stats')).toBe('60');
    expect(asked.at(-1)?.get('since')).toBe('2026-01-02T03:00:00.000Z');
    await page.getByRole('button', { name: 'Next period' }).click();
    await until(() => queryOf(page).get('from') === '2026-01-02T04:00:00.000Z');
    expect(queryOf(page).get('to')).toBe('2026-01-02T05:00:00.000Z');
    await page.getByRole('button', { name: /^Time: 2026-01-02 04:00/ }).click();
    await page.getByLabel('From').fill('2026-01-02T00:00');
    await page.getByRole('button', { name: 'Show' }).click();
    await until(() => queryOf(page).get('from') === '2026-01-02T00:00:00.000Z');
    await page.getByRole('link', { name: 'Back to live' }).click();
    await page.getByRole('button', { name: 'Time: Last 1 h' }).waitFor();
  });

  it('does not offer what is before the beginning of the history', async () => {
    const { page } = await open('#/');
    await page.getByRole('button', { name: /^Time/ }).click();
    await page.getByText(/^History starts \d\d:\d\d$/).waitFor();
    const choices = page.locator('.range-list button');
    expect(await choices.allTextContents()).toEqual([
      'Last 15 min',
      'Last 1 h',
      'Last 6 h',
      'Last 24 h',
      'Last 7 d',
    ]);
    expect(await choices.evaluateAll((all) => all.map((one) => one.matches(':disabled')))).toEqual([
      false,
      true,
      true,
      true,
      true,
    ]);
    expect(await page.getByRole('button', { name: 'Previous period' }).isDisabled()).toBe(true);
  });

  it('reads the addresses of earlier versions', async () => {
    const { page, go } = await open('#/?minutes=360');
    await page.getByRole('button', { name: 'Time: Last 6 h' }).waitFor();
    await go('#/tasks?last=15&state=FAILURE');
    await page.getByRole('button', { name: 'Time: Last 15 min' }).waitFor();
    await page.getByText('1 task', { exact: true }).waitFor();
    for (const hash of ['#/components', '#/metrics']) {
      await go(hash);
      await page.getByRole('heading', { name: 'System', exact: true }).waitFor();
      await page.getByRole('region', { name: 'history' }).waitFor();
    }
    await go('#/overview');
    await page.getByRole('region', { name: 'Verdict' }).waitFor();
  });

  it('pauses and goes on', async () => {
    const { page, queue, later, settled } = await open('#/tasks', { clock: true });
    await page.getByText('23 tasks').waitFor();
    await page.getByRole('button', { name: 'Live' }).click();
    await page.getByRole('button', { name: 'Paused' }).waitFor();
    queue.record({ id: 'new', name: 'brand.new', state: 'STARTED' });
    // What somebody opens is loaded nevertheless.
    await page.getByRole('link', { name: 'Overview', exact: true }).click();
    await page.locator('.named').getByText('brand.new').waitFor();
    await settled();
    const asked = statsOf(page);
    const bytes = await streamedBytes(page);
    queue.record({ id: 'newer', name: 'newer.yet', state: 'STARTED' });
    // The news has arrived, and every timer that could ask for more has run.
    await until(() => bytes() > 0);
    await later(60_000);
    await settled();
    expect([asked, await page.getByText('newer.yet').count()]).toEqual([[], 0]);
    await page.keyboard.press('l');
    await page.locator('.named').getByText('newer.yet').waitFor();
    await page.getByRole('button', { name: 'Live' }).waitFor();
  });

  it('has a key for each thing', async () => {
    const { page } = await open('#/tasks?name=labels.print', {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    const at = (ending: string) => until(() => page.url().includes(ending));
    await page.getByText('20 tasks', { exact: true }).waitFor();
    await page.locator('.rows .c-name a').nth(2).click();
    const third = page.url();
    await page.getByRole('heading', { name: 'labels.print' }).waitFor();
    await page.keyboard.press(']');
    await until(() => page.url() !== third && page.url().includes('#/tasks/label-'));
    await page.getByRole('heading', { name: 'labels.print' }).waitFor();
    await page.keyboard.press('[');
    await until(() => page.url() === third);
    await page.keyboard.press('Escape');
    await at('#/tasks?name=labels.print');
    await page.keyboard.press('g');
    await page.keyboard.press('o');
    await at('#/');
    await page.locator('.named tbody tr').first().waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    const rows = "[...document.querySelectorAll('main tbody tr')]";
    expect(await page.evaluate(`${rows}.indexOf(document.activeElement.closest('tr'))`)).toBe(1);
    await page.keyboard.press('y');
    await page.getByText('Link copied').waitFor();
    const copied = String(await page.evaluate('navigator.clipboard.readText()'));
    const query = new URLSearchParams(copied.split('?')[1]);
    const length = Date.parse(String(query.get('to'))) - Date.parse(String(query.get('from')));
    expect([copied.startsWith(`${page.url().split('#')[0]}#/?`), length]).toEqual([true, 3_600_000]);
  });

  it('has room for everything on a phone', async () => {
    const { page, go } = await open('#/', PHONE);
    const heights = (selector: string) =>
      page.locator(selector).evaluateAll((all) => all.map((one) => one.getBoundingClientRect().height));
    const [top] = await heights('.frame-row');
    expect(top).toBe(48);
    await page.getByRole('navigation', { name: 'Views' }).getByText('Tasks').click();
    await page.getByText('23 tasks').waitFor();
    expect(
      Math.min(...(await heights('.frame button, #app > nav > *:not([popover])'))),
    ).toBeGreaterThanOrEqual(44);
    await page.getByRole('button', { name: 'Find tasks' }).click();
    await page.keyboard.type('payments');
    await page.getByText('2 tasks', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('link', { name: 'System' }).click();
    await page.getByRole('heading', { name: 'System', exact: true }).waitFor();
    await go('#/?from=2026-01-02T03:00:00Z&to=2026-01-02T04:00:00Z');
    await page.getByRole('button', { name: /^Time/ }).click();
    await page.getByRole('button', { name: 'Next period' }).click();
    await until(() => queryOf(page).get('to') === '2026-01-02T05:00:00.000Z');
  });

  it.each([
    [{}, 'label', '-7'],
    [PHONE, 'label-7', ''],
  ] as const)('keeps what is typed before the search is loaded, in %j', async (options, before, after) => {
    const chunk = new EventEmitter();
    const { page } = await open('#/', {
      ...options,
      prepare: (page) =>
        page.route(/\/language-[^/]*\.js$/, async (route) => {
          await once(chunk, 'wanted');
          await route.continue();
        }),
    });
    await page.getByRole('heading', { name: 'Overview: ' }).waitFor();
    if (options === PHONE) await page.getByRole('button', { name: 'Find tasks' }).click();
    else await page.keyboard.press('/');
    await page.keyboard.type(before);
    if (after === '') await page.keyboard.press('Enter');
    chunk.emit('wanted');
    await page.getByRole('combobox', { name: 'Search' }).waitFor();
    await page.keyboard.type(after);
    if (after !== '') await page.keyboard.press('Enter');
    await page.getByText('1 task', { exact: true }).waitFor();
    expect(page.url()).toContain('#/tasks?q=label-7');
  });

  it('shows one of several sources alone, in every view', async () => {
    const [east, west] = [memorySources({ name: 'east' }), memorySources({ name: 'west' })];
    for (const [name, queue] of Object.entries({ east, west })) {
      queue.record({ id: name, name: `${name}.task`, state: 'STARTED' });
      queue.recordWorker({ hostname: `${name}@host`, interval: 3_600 });
    }
    const { page } = await visit({ sources: combineSources(east, west) }, '#/tasks');
    await page.getByText('2 tasks', { exact: true }).waitFor();
    await page.getByLabel('Source').selectOption('west');
    await page.getByText('1 task', { exact: true }).waitFor();
    expect(await page.locator('.rows .c-name a').allTextContents()).toEqual(['west.task']);
    await page.getByRole('link', { name: 'Workers', exact: true }).click();
    await page.getByText('west@host').first().waitFor();
    expect(await page.getByText('east@host').count()).toBe(0);
    await page.getByLabel('Source').selectOption('All sources');
    await page.getByText('east@host').first().waitFor();
  });
});
