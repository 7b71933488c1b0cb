import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { memorySources } from '../../src/memory.ts';
import { until } from '../router/host-kit.ts';
import { browserMissing, browserTitle, visit } from './browser.ts';
import { POISON, poisoned } from './poison.ts';

const PART = '<img src=x onerror=alert(1)>';
const id = encodeURIComponent(POISON);

const ADDRESSES: Readonly<Record<string, string>> = {
  'the overview': '#/',
  'the list': '#/tasks',
  'the list with every filter': `#/tasks?q=alert&state=${id}&name=${id}&worker=${id}&queue=${id}&group_id=${id}`,
  'a task': `#/tasks/${id}`,
  'a task with slashes': `#/tasks/${encodeURIComponent(`a/b?c#d ${POISON}`)}`,
  'a task that nobody knows': `#/tasks/${encodeURIComponent(`x${POISON}`)}`,
  'a workflow': `#/workflow/${id}`,
  'a workflow as a graph': `#/workflow/${id}?view=graph`,
  workers: '#/workers',
  schedules: '#/schedules',
  system: '#/system',
};

describe.skipIf(browserMissing)(
  browserTitle('in a browser, a name, value or traceback full of HTML and script'),
  () => {
    it('shows as text in every view', { timeout: 240_000 }, async () => {
      const monitor = { sources: poisoned(), dashboard: { title: POISON } };
      const { page, go, settled } = await visit(monitor, '', { expected: /40[04]|503/ });
      const active = '#app img, #app script, #app [onload], #app [onerror], a[href^="javascript:"]';
      for (const [view, hash] of Object.entries(ADDRESSES)) {
        await go(hash);
        await settled();
        await until(async () => (await page.locator('main').textContent())?.includes(PART) === true);
        expect([view, await page.locator(active).count()]).toEqual([view, 0]);
      }
      // An address that is no view.
      await go(`#/${POISON}`);
      await settled();
      expect(await page.locator(active).count()).toBe(0);
    });

    it('is exported in no cell that a spreadsheet runs as a formula, wherever its cells begin', async () => {
      const queue = memorySources();
      const names = ['=a()', 'x;=b()', 'x\t+c()', 'x\n@d()', 'x\r\n-e()'];
      for (const [index, name] of names.entries())
        queue.record({ id: String(index), state: 'STARTED', name });
      const { page } = await visit({ sources: queue }, '#/tasks');
      await page.getByText('5 tasks', { exact: true }).waitFor();
      const [file] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'CSV', exact: true }).click(),
      ]);
      const text = readFileSync(await file.path(), 'utf8');
      for (const letter of 'abcde') expect(text).toMatch(new RegExp(`'[=+@-]${letter}\\(\\)`));
    });
  },
);
