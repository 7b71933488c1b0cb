/** Which rows the waterfall of a workflow has. */
import { describe, expect, it } from 'vitest';
import type { TaskRelation } from '../../src/model.ts';
import { until } from '../router/host-kit.ts';
import { browserMissing, browserTitle, visit } from './browser.ts';
import { ago, range, rowsOf, type Tree, task, treeSources } from './trees.ts';

const related = (relation: string, ...ids: readonly string[]): TaskRelation[] =>
  ids.slice(1).map((child, index) => ({ parent: ids[index] ?? null, child, relation }));

const header = (chord: string, more: object = {}) =>
  range(3).map((index) =>
    task(`h${index}`, { sent: ago(50 - index), groupId: `g-${chord}`, chordId: `body-${chord}`, ...more }),
  );
const failed = { state: 'FAILURE', exception: 'Error: no', finished: ago(10) } as const;

const CASES: Readonly<Record<string, Tree & { readonly rows: readonly string[] }>> = {
  'below the task that sent them, in the order in which they were sent': {
    tasks: [
      task('root', { sent: ago(60) }),
      task('late', { sent: ago(30), parentId: 'root' }),
      task('early', { sent: ago(40), parentId: 'root' }),
      task('below', { sent: ago(20) }),
    ],
    relations: related('link', 'early', 'below'),
    rows: ['✓ root', '  ✓ early', '    ✓ below', '  ✓ late'],
  },
  'as steps of a chain one after the other, also those that never ran': {
    tasks: [
      task('sender', { sent: ago(60) }),
      task('one', { sent: ago(50), parentId: 'sender', ...failed }),
      task('other', { sent: ago(20), parentId: 'sender' }),
    ],
    relations: related('chain', 'one', 'two', 'three'),
    rows: ['✓ sender', '  ■ one root cause', '  (○ two)', '  (○ three)', '  ✓ other'],
  },
  'as members of a group without a sender, and the body of their chord behind them': {
    tasks: [...header('alone'), task('body-alone', { sent: ago(20) })],
    rows: ['✓ group of 3', '  ✓ h0', '  ✓ h1', '  ✓ h2', '  ✓ body-alone'],
  },
  'without a group where its members have a sender': {
    tasks: [
      task('starter', { sent: ago(60) }),
      ...header('sent', { parentId: 'starter' }),
      task('body-sent', { sent: ago(20), parentId: 'h1' }),
    ],
    rows: ['✓ starter', '  ✓ h0', '  ✓ h1', '  ✓ h2', '  ✓ body-sent'],
  },
  'as children of a flow below the job that waits for them': {
    tasks: [task('book', { sent: ago(60) }), task('page', { sent: ago(60) })],
    relations: [{ parent: 'page', child: 'book', relation: 'flow' }],
    rows: ['✓ book', '  ✓ page'],
  },
  'once where chains run in circles': {
    tasks: range(4).map((index) => task(`c${index}`, { sent: ago(60 - index) })),
    relations: related('chain', 'c0', 'c1', 'c2', 'c3', 'c0'),
    rows: ['✓ c0', '✓ c1', '✓ c2', '✓ c3'],
  },
  'with what failed first by itself as the root cause': {
    tasks: [
      task('second', { ...failed, sent: ago(60), finished: ago(9) }),
      task('body', { ...failed, sent: ago(58), flags: ['consequence'], finished: ago(40) }),
      task('first', { ...failed, sent: ago(59), finished: ago(30) }),
    ],
    relations: related('chain', 'second', 'first', 'body'),
    rows: ['■ second', '■ first root cause', '(○ body)'],
  },
  'as steps that will never run before all others have ended': {
    tasks: [
      task('start', { sent: ago(60) }),
      task('broken', { sent: ago(50), parentId: 'start', ...failed }),
      task('busy', { sent: ago(40), parentId: 'start', state: 'STARTED', started: ago(30) }),
    ],
    relations: [
      ...related('chain', 'broken', 's1'),
      ...related('link', 's1', 's2'),
      ...related('chain', 'busy', 'next'),
    ],
    rows: ['✓ start', '  ■ broken root cause', '  (○ s1)', '    (○ s2)', '  ● busy', '  ○ next'],
  },
};

/** A task that sent 100 others of one name, two of which failed, and five of another one. */
const MANY: Tree = {
  tasks: [
    task('many', { sent: ago(600) }),
    ...range(100).map((index) =>
      task(`m${index}`, {
        ...{ name: 'a.many', parentId: 'many', sent: ago(500 - index) },
        ...(index % 50 === 7 && { ...failed, finished: ago(90 - index) }),
      }),
    ),
    ...range(5).map((index) => task(`f${index}`, { name: 'a.few', parentId: 'many', sent: ago(80 - index) })),
  ],
};

const DEEP = 5_000;
const CHAIN: Tree = {
  tasks: range(DEEP).map((index) =>
    task(`d${index}`, { sent: ago(6_000 - index), ...(index > 0 && { parentId: `d${index - 1}` }) }),
  ),
};

const open = (tree: Tree, query = '') =>
  visit({ sources: treeSources([tree]) }, `#/workflow/${tree.tasks[0]?.id}${query}`, { expected: /501/ });

describe.skipIf(browserMissing)(browserTitle('in a browser, tasks of a workflow stand'), () => {
  it('where their relations put them', async () => {
    const trees = Object.values(CASES);
    const { page, go, settled } = await visit({ sources: treeSources(trees) }, '#/tasks', {
      expected: /501/,
    });
    const shown: Record<string, readonly string[]> = {};
    for (const [title, { tasks }] of Object.entries(CASES)) {
      await go(`#/workflow/${tasks[0]?.id}`);
      await page.locator('.wf-row').first().waitFor();
      await settled();
      shown[title] = await rowsOf(page);
    }
    expect(shown).toEqual(
      Object.fromEntries(Object.entries(CASES).map(([title, { rows }]) => [title, rows])),
    );
  });

  it('in one row if more than five of one name were sent by one task, those that failed first', async () => {
    const { page, settled } = await open(MANY);
    await page.locator('.wf-row').first().waitFor();
    await settled();
    // The way to the root cause is open.
    const shown = await rowsOf(page);
    expect(shown.slice(0, 5)).toEqual([
      ...['✓ many', '  ■ a.many ×100', '    ■ a.many root cause', '    ■ a.many', '    ✓ a.many'],
    ]);
    expect(await page.locator('.wf-fold .wf-time').textContent()).toContain('2 failed');
    const more = page.getByRole('row', { name: /^50 more/ });
    // The head, `many`, the fold, those that failed, twenty others, the way to the rest, and the five.
    const total = async () => Number(await page.getByRole('treegrid').getAttribute('aria-rowcount'));
    expect(await total()).toBe(1 + 2 + 2 + 20 + 1 + 5);
    await page.locator('.wf-row').first().focus();
    await until(async () => {
      await page.keyboard.press('End');
      return (await more.count()) > 0;
    });
    await more.click();
    await until(async () => (await total()) === 1 + 2 + 2 + 70 + 1 + 5);
  });

  it('alone if they failed, with what is above them, where only that is asked for', async () => {
    const { page, settled } = await open(MANY, '?failed=1');
    await page.locator('.wf-row').first().waitFor();
    await settled();
    expect(await rowsOf(page)).toEqual(['✓ many', '  ■ a.many root cause', '  ■ a.many']);
  });

  it('in a chain of senders that is deeper than any call stack', { timeout: 240_000 }, async () => {
    const { page } = await open(CHAIN);
    await page.getByText(`${DEEP.toLocaleString('en-US')} tasks`).waitFor({ timeout: 200_000 });
    const grid = page.getByRole('treegrid');
    await until(async () => (await grid.getAttribute('aria-rowcount')) === String(DEEP + 1));
  });
});
