/** What the graph of a workflow draws. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import type { TaskRelation } from '../../src/model.ts';
import { until } from '../router/host-kit.ts';
import { browserMissing, browserTitle, visit } from './browser.ts';
import { nodesOf, range, type Tree, task, treeSources } from './trees.ts';

/** The most nodes that are drawn before the reader asks for more. */
const MOST_DRAWN = 250;
const failed = { state: 'FAILURE', exception: 'Error: no' } as const;

const hashOf = ({ tasks: [first] }: Tree, query: string) => `#/workflow/${first?.id}?view=graph${query}`;

async function openGraph(tree: Tree, query = '') {
  const view = await visit({ sources: treeSources([tree]) }, hashOf(tree, query), { expected: /501/ });
  await view.page.locator('.graph-svg .node').first().waitFor();
  await view.settled();
  return view.page;
}

/** One graph after the other, on one page. */
async function openEach(
  trees: readonly Tree[],
  check: (page: Page, index: number) => Promise<void>,
  query = '',
) {
  const { page, go, settled } = await visit({ sources: treeSources(trees) }, '#/tasks', { expected: /501/ });
  for (const [index, tree] of trees.entries()) {
    await go('#/tasks');
    await go(hashOf(tree, query));
    await page.locator('.graph-svg .node').first().waitFor();
    await settled();
    await check(page, index);
  }
}

const edgeCount = (page: Page) => page.locator('.graph-svg path.edge').count();

/** Counts points of edges that lie within a node, or to the left of the one before. */
const ASTRAY = `(() => {
  const rects = [...document.querySelectorAll('.graph-svg .node > rect:last-of-type')];
  const boxes = rects.map((rect) => rect.getBoundingClientRect());
  const isIn = ({ x, y }) => boxes.some((box) => x > box.left + 1 && x < box.right - 1 && y > box.top && y < box.bottom);
  return [...document.querySelectorAll('.graph-svg path.edge')].flatMap((path) => {
    const at = (part) => path.getPointAtLength(path.getTotalLength() * part).matrixTransform(path.getScreenCTM());
    const points = Array.from({ length: 100 }, (_, index) => at((index + 0.5) / 100));
    return points.filter((point, index) => isIn(point) || point.x < points[Math.max(0, index - 1)].x - 0.1);
  }).length;
})()`;

/** A task that starts a chord of 20 tasks of one name. */
const WIDE: Tree = {
  tasks: [
    task('root'),
    ...range(20).map((index) =>
      task(`m${index}`, { name: 'm', parentId: 'root', groupId: 'g', chordId: 'body' }),
    ),
    task('body', { name: 'z' }),
  ],
};

describe.skipIf(browserMissing)(browserTitle('in a browser, the graph of a workflow'), () => {
  it('folds many tasks of one name in one group into one node with one edge each way', async () => {
    const page = await openGraph(WIDE);
    expect(await nodesOf(page)).toEqual([
      ...['20 × m, 20 of 20 done', 'group, 20 of 20 done', 'root, SUCCESS', 'z, SUCCESS'],
    ]);
    expect(await edgeCount(page)).toBe(3);
  });

  it('folds the children of a flow, which run before their parent', async () => {
    const relations: TaskRelation[] = range(20).map((index) => ({
      ...{ parent: `c${index}`, child: 'parent', relation: 'flow' },
    }));
    const children = range(20).map((index) => task(`c${index}`, { name: 'child' }));
    const page = await openGraph({ tasks: [task('parent'), ...children], relations });
    expect(await nodesOf(page)).toEqual(['20 × child, 20 of 20 done', 'parent, SUCCESS']);
    expect(await edgeCount(page)).toBe(1);
  });

  it('folds tasks of one depth where there are very many, and opens them again', async () => {
    const tasks = range(3_000).map((index) =>
      task(`n${index}`, {
        name: `t${index % 7}`,
        ...(index > 0 && { parentId: `n${Math.floor((index - 1) / 3)}` }),
      }),
    );
    const page = await openGraph({ tasks });
    const nodes = await nodesOf(page);
    expect(nodes.length).toBeLessThanOrEqual(MOST_DRAWN);
    const counts = nodes.map((title) => Number(/^([\d,]+) × /.exec(title)?.[1]?.replace(',', '') ?? 1));
    expect(counts.reduce((sum, one) => sum + one, 0)).toBe(3_000);
  });

  it('draws the first of very many tasks of different names, and more of them whenever the rest is opened', async () => {
    const tasks = range(401).map((index) => task(`n${index}`, index > 0 ? { parentId: 'n0' } : {}));
    const page = await openGraph({ tasks });
    for (const [rest, button, drawn] of [
      ['151 other tasks', 'Show the first 100', 351],
      ['51 other tasks', 'Show each task', 401],
    ] as const) {
      await page.getByRole('button', { name: `${rest}, ` }).press('Enter');
      await page.getByRole('button', { name: button }).click();
      await until(async () => (await page.locator('.graph-svg .node').count()) === drawn);
    }
    await page.getByRole('button', { name: 'Fold groups' }).click();
    await until(async () => (await page.locator('.graph-svg .node').count()) === MOST_DRAWN + 1);
  });

  it('leads edges from left to right between the nodes, and a group close to its members', async () => {
    const chain = range(6).map((index) => task(`n${index}`, index > 0 ? { parentId: `n${index - 1}` } : {}));
    const members = range(3).map((index) => task(`m${index}`, { parentId: 'n5', groupId: 'g' }));
    const relations = [{ parent: 'n0', child: 'm1', relation: 'link' }];
    const page = await openGraph({ tasks: [...chain, ...members], relations });
    const astray = await page.evaluate<number>(ASTRAY);
    expect(astray).toBe(0);
    const group = await page.getByRole('button', { name: /^group, / }).boundingBox();
    const last = await page.getByRole('button', { name: /^n5, / }).boundingBox();
    expect(group?.x).toBe(last?.x);
  });

  it('keeps what failed and what led to it, also round a cycle', async () => {
    const page = await openGraph(
      {
        tasks: [
          task('a', { parentId: 'b' }),
          task('b', { parentId: 'a' }),
          task('c', { ...failed, parentId: 'b' }),
          task('d', { parentId: 'c' }),
        ],
      },
      '&failed=1',
    );
    expect(await nodesOf(page)).toEqual(['a, SUCCESS', 'b, SUCCESS', 'c, FAILURE']);
    expect(await edgeCount(page)).toBe(3);
  });

  it('keeps the task of a chain, flow or link that failed itself, not one that never ran because of it', async () => {
    const trees = ['chain', 'flow', 'link'].map((relation): Tree => {
      const first = `${relation} first`;
      const culprit = `${relation} culprit`;
      const idle = `${relation} idle`;
      return {
        tasks: [
          task(first),
          task(culprit, failed),
          task(idle, { ...failed, flags: ['consequence'] }),
          task(`${relation} refused`, { state: 'REJECTED', parentId: first }),
        ],
        relations: [
          { parent: first, child: culprit, relation },
          { parent: culprit, child: idle, relation },
        ],
      };
    });
    const shown: string[][] = [];
    await openEach(trees, async (page) => void shown.push(await nodesOf(page)), '&failed=1');
    expect(shown).toEqual(
      ['chain', 'flow', 'link'].map((relation) =>
        ['culprit, FAILURE', 'first, SUCCESS', 'refused, REJECTED'].map((text) => `${relation} ${text}`),
      ),
    );
  });

  it('gives each of 3, 60 or 81 nodes a place of its own, also where there are cycles', async () => {
    const counts = [3, 60, 81];
    const trees = counts.map((count) => ({
      tasks: range(count).map((index) =>
        task(`${count}-${index}`, {
          parentId: `${count}-${index === 0 ? count - 1 : Math.floor(index / 3)}`,
        }),
      ),
    }));
    await openEach(trees, async (page, at) => {
      const overlaps = await page.locator('.graph-svg .node > rect:last-of-type').evaluateAll((rects) => {
        const boxes = rects.map((rect) => rect.getBoundingClientRect());
        return boxes.flatMap((one, index) =>
          boxes
            .slice(index + 1)
            .filter(
              (other) =>
                one.left < other.right &&
                other.left < one.right &&
                one.top < other.bottom &&
                other.top < one.bottom,
            ),
        ).length;
      });
      expect([await page.locator('.graph-svg .node').count(), overlaps]).toEqual([counts[at], 0]);
    });
  });

  it('tells long names apart, within the nodes', async () => {
    const names = [
      ...['shop.orders.place', 'warehouse.billing.render_and_send_all_documents'],
      ...['warehouse.importer.orders.of_today.process', 'warehouse.exporter.orders.of_today.process'],
      ...['x'.repeat(80), 'a.b.'.repeat(30), '.'.repeat(40)],
    ];
    const page = await openGraph({
      tasks: names.map((name, index) => task(`n${index}`, { name, ...(index > 0 && { parentId: 'n0' }) })),
    });
    const labels = await page.locator('.graph-svg .node').evaluateAll((nodes) =>
      nodes.map((node) => ({
        lines: [...node.querySelectorAll('.node-name')].map(({ textContent }) => textContent),
        isWithin: [...node.querySelectorAll('text')].every(
          (text) =>
            text.getBoundingClientRect().right <=
            (node.querySelector('rect')?.getBoundingClientRect().right ?? 0),
        ),
      })),
    );
    expect(labels.filter(({ isWithin }) => !isWithin)).toEqual([]);
    const lines = labels.map((label) => label.lines.join('|'));
    expect(lines).toContain('shop.orders.place');
    expect(lines).toContain('warehouse.billing.|render_and…l_documents');
    expect(new Set(lines).size).toBe(names.length);
  });

  it('says whether all have ended, and how many never ran', async () => {
    const chain = (...ids: readonly string[]): TaskRelation[] =>
      ids.slice(1).map((child, index) => ({ parent: ids[index] ?? null, child, relation: 'chain' }));
    const trees: readonly (Tree & { readonly said: string })[] = [
      {
        tasks: [task('a'), task('b', failed)],
        relations: chain('a', 'b', 'c'),
        said: 'All tasks that ran have ended. 1 more task never ran.',
      },
      {
        tasks: [task('s', failed), task('t', { ...failed, flags: ['consequence'] })],
        relations: chain('s', 't'),
        said: 'All tasks that ran have ended. 1 more task never ran.',
      },
      {
        tasks: [task('r'), task('q', { state: 'STARTED', parentId: 'r' })],
        said: 'Some tasks have not ended.',
      },
      {
        tasks: [task('k', { parentId: 'unseen' }), task('l', { parentId: 'k' })],
        said: 'All tasks have ended.',
      },
    ];
    const { page, go } = await visit({ sources: treeSources(trees) }, '#/tasks', { expected: /501/ });
    for (const { tasks, said } of trees) {
      await go(`#/workflow/${tasks[0]?.id}?view=graph`);
      await until(async () => (await page.locator('.graph-side').textContent())?.includes(said) === true);
    }
  });
});
