/** How the page writes lengths of time, numbers, rules of schedules and values. */
import { describe, expect, it } from 'vitest';
import type { Schedule, TaskDetail } from '../../src/model.ts';
import type { TaskSource } from '../../src/source.ts';
import { until } from '../router/host-kit.ts';
import { browserMissing, browserTitle, DESKTOP, visit } from './browser.ts';

const DURATIONS: readonly (readonly [ms: number, text: string])[] = [
  [0, '0 ms'],
  [0.4, '<1 ms'],
  [850, '850 ms'],
  [999.6, '1.0 s'],
  [2_400, '2.4 s'],
  [59_600, '1 min'],
  [192_000, '3 min 12 s'],
  [7_500_000, '2 h 5 min'],
  [273_600_000, '3 d 4 h'],
];

const RULES: readonly (readonly [rule: string, text: string])[] = [
  ['every 30 s', 'Every 30 s'],
  ['* * * * * (m/h/dM/MY/d)', 'Every minute'],
  ['0 * * * * (m/h/dM/MY/d)', 'Hourly at :00'],
  ['*/5 * * * * (m/h/dM/MY/d)', 'Every 5 min'],
  ['*/7 * * * *', '*/7 * * * *'],
  ['30 */2 * * *', 'Every 2 h at :30'],
  ['0 3 * * * (m/h/dM/MY/d)', 'Daily at 03:00'],
  ['0 7 * * 1 (m/h/dM/MY/d)', 'Mondays at 07:00'],
  ['5 7 * * mon-fri', 'Mondays to Fridays at 07:05'],
  ['0 0 1 * *', 'Monthly on day 1 at 00:00'],
  ['0 0 6 * * *', 'Daily at 06:00'],
  ['*/30 0 3 * * 1-5', '*/30 0 3 * * 1-5'],
  ['0 0 29 2 1', '0 0 29 2 1'],
  ['every 1 h (at most 5 runs)', 'Every 1 h (at most 5 runs)'],
  ['sunset', 'sunset'],
];

const LONG = 'x'.repeat(60);
const JSON_VALUE = { a: [1, 2], b: LONG, c: { d: LONG } };
const REPR = `({'a': [1, 2], 'b': '${LONG}, (not a bracket', "it's": (1,)}, <Order: ${LONG}>)`;
const LAID_OUT = JSON.stringify(JSON_VALUE, null, 2);

/** Results, and how they are shown; `null`: with other white space, but every character. */
const RESULTS: Readonly<Record<string, readonly [result: string, shown: string | null]>> = {
  'a short one': ["(1, 'a')", "(1, 'a')"],
  'lines of their own': ['a\n[1]', 'a\n[1]'],
  'text without brackets': ['nothing', 'nothing'],
  JSON: [JSON.stringify(JSON_VALUE), LAID_OUT],
  'a repr of Python': [REPR, null],
  'brackets without end': [`[${'('.repeat(5_000)}`, null],
  'a text that was cut': [`{'a': '${LONG}${LONG}…`, null],
  'brackets in wrong order': [`)]}${LONG}${LONG}([{`, null],
  'a quote without end': [`'${LONG}\\'${LONG}(`, null],
  'very deep brackets': [`${'['.repeat(100)}1${']'.repeat(100)}`, null],
};

const withoutSpace = (text: string): string => text.replaceAll(/\s/g, '');

const source = (more: Partial<TaskSource>): { tasks: TaskSource } => ({
  tasks: {
    ...{ name: 'mine', listTasks: () => ({ tasks: [], next: null, total: 0 }), getTask: () => null },
    ...more,
  },
});

describe.skipIf(browserMissing)(browserTitle('in a browser, people read'), () => {
  it('lengths of time in at most two units', async () => {
    const tasks = DURATIONS.map(([ms], index) => ({
      ...{
        id: `t${index}`,
        state: 'SUCCESS' as const,
        runtime: ms / 1_000,
        timestamp: new Date(Date.now() - index),
      },
    }));
    const listTasks = () => ({ tasks, next: null, total: tasks.length });
    const { page } = await visit({ sources: source({ listTasks }) }, '#/tasks', {
      expected: /501/,
      ...DESKTOP,
    });
    await until(async () => (await page.locator('.rows .row').count()) === tasks.length);
    expect(await page.locator('.rows .c-ran').allTextContents()).toEqual(DURATIONS.map(([, text]) => text));
  });

  it('numbers with the separators of English', async () => {
    const listTasks: TaskSource['listTasks'] = ({ names }) => ({
      ...{ tasks: [], next: null, total: Number(names[0] ?? 0) },
    });
    const { page, go } = await visit({ sources: source({ listTasks }) }, '#/tasks', { expected: /501/ });
    for (const total of [12, 999, 1_000, 12_345, 123_456, 1_234_567]) {
      await go(`#/tasks?name=${total}`);
      await page.getByText(`${total.toLocaleString('en-US')} tasks`, { exact: true }).waitFor();
    }
  });

  it('rules of schedules in words, and those that have none as they are', async () => {
    const schedules = RULES.map(
      ([schedule], index): Schedule => ({
        ...{ id: `${index}`, name: schedule, schedule, enabled: true },
        nextRunAt: new Date(Date.now() + (index + 1) * 3_600_000),
      }),
    );
    const sources = { schedules: { name: 'mine', listSchedules: () => schedules } };
    const { page } = await visit({ sources }, '#/schedules', { expected: /501/ });
    await until(async () => (await page.locator('.schedules tbody tr').count()) === RULES.length);
    const rows = await page
      .locator('.schedules tbody tr')
      .evaluateAll((all) =>
        all.map((row) =>
          ['th .wrap', '.s-every'].map((cell) => row.querySelector(cell)?.textContent?.trim()),
        ),
      );
    expect(rows).toEqual(RULES);
  });

  it('values of JSON and of Python laid out over lines, and every character of broken ones', async () => {
    const getTask = (id: string): TaskDetail => ({ id, state: 'SUCCESS', result: RESULTS[id]?.[0] });
    const { page, go, settled } = await visit({ sources: source({ getTask }) }, '#/tasks', {
      expected: /501/,
    });
    for (const [id, [result, expected]] of Object.entries(RESULTS)) {
      await go(`#/tasks/${encodeURIComponent(id)}`);
      await page.getByText(id, { exact: true }).first().waitFor();
      await settled();
      const value = page.getByRole('region', { name: 'Result' });
      const all = value.getByRole('button', { name: /^Show all/ });
      if ((await all.count()) > 0) await all.click();
      const shown = (await value.locator('pre').textContent()) ?? '';
      if (expected !== null) expect([id, shown]).toEqual([id, expected]);
      expect([id, withoutSpace(shown)]).toEqual([id, withoutSpace(result)]);
      if (result === REPR) expect(shown).toContain("\n    'a': [1, 2],\n");
    }
  });
});
