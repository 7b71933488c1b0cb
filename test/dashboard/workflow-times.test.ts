/** What the waterfall of a workflow says about times, and where it draws them. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import type { Task } from '../../src/model.ts';
import { browserMissing, browserTitle, visit } from './browser.ts';
import { ago, range, type Tree, task, treeSources } from './trees.ts';

const HOUR = 3_600;
/** Some minutes beyond what is compared: time goes on while the page opens. */
const TWO_HOURS = 2 * HOUR + 300;
type Words = readonly [fields: Partial<Task>, beside: string, times: string];

/** Tasks, the text beside the bar of each, and its times in words. */
function wordsAt(now: number): Readonly<Record<string, Words>> {
  const before = (seconds: number): Date => new Date(now - seconds * 1_000);
  const ended = { sent: before(60), started: before(9), finished: before(5) };
  return {
    'ran after a wait': [
      { ...ended, waitSeconds: 3, runtime: 4 },
      '4.0 s',
      'SUCCESS, waited 3.0 s, ran 4.0 s',
    ],
    'has no known wait': [
      { started: before(9), finished: before(5), runtime: 4 },
      '4.0 s',
      'SUCCESS, ran 4.0 s',
    ],
    runs: [{ state: 'STARTED', started: before(TWO_HOURS) }, '2 h', 'STARTED, has run for 2 h'],
    waits: [{ state: 'PENDING', sent: before(TWO_HOURS) }, 'waits 2 h', 'PENDING, waited 2 h'],
    'waits since its eta': [
      { state: 'PENDING', sent: before(4 * HOUR), eta: before(TWO_HOURS) },
      ...(['waits 2 h', 'PENDING, waited 2 h'] as const),
    ],
    'is due later': [
      { state: 'PENDING', sent: before(90), eta: before(-TWO_HOURS - 300) },
      'due in 2 h',
      'PENDING, ',
    ],
    'waits for a retry': [
      { state: 'RETRY', sent: before(90), started: before(80), retries: 2, eta: before(-TWO_HOURS - 300) },
      ...(['retry 2 in 2 h', 'RETRY, after 2 retries'] as const),
    ],
    'was retried': [
      { ...ended, waitSeconds: 1, runtime: 4, retries: 1 },
      ...(['4.0 s', 'SUCCESS, waited 1.0 s, ran 4.0 s, after 1 retry'] as const),
    ],
    'was revoked': [
      { state: 'REVOKED', sent: before(30), finished: before(28) },
      ...(['revoked', 'REVOKED, waited 2.0 s'] as const),
    ],
    'has no known start': [{ finished: before(5), runtime: 2 }, '2.0 s', 'SUCCESS, ran 2.0 s'],
    'ran where clocks differ': [
      { started: before(5), finished: before(6), runtime: 0.5 },
      ...(['500 ms', 'SUCCESS, ran 500 ms'] as const),
    ],
  };
}

const BEGUN = Date.now() - 3 * HOUR * 1_000;
const after = (seconds: number): Date => new Date(BEGUN + seconds * 1_000);

/** A task that ended; times are seconds since the beginning. */
const ran = (id: string, sent: number, started: number, finished: number): Task =>
  task(id, {
    ...{ sent: after(sent), started: after(started), finished: after(finished) },
    ...{ waitSeconds: started - sent, runtime: finished - started },
  });

/** The first one sent the others. */
const treeOf = (...tasks: readonly Task[]): Tree => ({
  tasks,
  relations: tasks.slice(1).map(({ id }) => ({ parent: tasks[0]?.id ?? '', child: id, relation: 'child' })),
});

async function openTree(tree: Tree) {
  const view = await visit({ sources: treeSources([tree]) }, `#/workflow/${tree.tasks[0]?.id}`, {
    expected: /501/,
  });
  await view.page.locator('.wf-row').first().waitFor();
  await view.settled();
  return view.page;
}

/** Left and right of the part of each row in which it ran, as shares of the axis. */
const barsOf = (page: Page): Promise<[number, number][]> =>
  page.locator('.wf-row').evaluateAll((rows) =>
    rows
      .toSorted((one, other) => Number(one.ariaRowIndex) - Number(other.ariaRowIndex))
      .map((row) => {
        const style = row.querySelector('.wf-run')?.getAttribute('style') ?? '';
        const share = (name: string) => Number(new RegExp(`${name}: ([\\d.]+)%`).exec(style)?.[1]) / 100;
        return [share('left'), share('left') + share('width')];
      }),
  );

const pausesOf = (page: Page) => page.locator('.wf-pause').allTextContents();

describe.skipIf(browserMissing)(browserTitle('in a browser, the waterfall says of a task'), () => {
  it('when it waited and ran', async () => {
    const rows = Object.entries(wordsAt(Date.now()));
    const page = await openTree({
      tasks: [
        task('root', { sent: ago(5 * HOUR) }),
        ...rows.map(([id, [fields]]) => task(id, { ...fields, parentId: 'root' })),
      ],
    });
    const shown: Record<string, unknown> = {};
    for (const [id] of rows) {
      const row = page.locator('.wf-row', {
        has: page.locator('.wf-link', { hasText: new RegExp(`^${id}$`) }),
      });
      const said = [row.locator('.wf-text'), row.locator('.wf-time .offscreen')].map((text) =>
        text.textContent(),
      );
      shown[id] = (await Promise.all(said)).map((text) => text?.replace(/ \d+ min\b/, ''));
    }
    expect(shown).toEqual(Object.fromEntries(rows.map(([id, [, ...texts]]) => [id, texts])));
  });

  it('no end where nobody saw one', async () => {
    const page = await openTree(
      treeOf(
        ran('root', 0, 1, 2),
        task('lost', { state: 'STARTED', started: ago(80), flags: ['end_unseen'] }),
      ),
    );
    const row = page.locator('.wf-row').nth(1);
    expect(await row.locator('.wf-text').textContent()).not.toMatch(/\d/);
  });
});

describe.skipIf(browserMissing)(browserTitle('in a browser, the time axis of a waterfall'), () => {
  it('is as long as the workflow, in even steps', async () => {
    const page = await openTree(treeOf(ran('root', 0, 1, 4), ran('next', 2, 3, 8)));
    const bars = await barsOf(page);
    expect(bars.flat().map((share) => Math.round(share * 1_000))).toEqual([125, 500, 375, 1_000]);
    expect(await pausesOf(page)).toEqual([]);
    const ticks = await page.locator('.wf-tick').allTextContents();
    expect([ticks[0], ticks.at(-1)]).toEqual(['0', '8.0 s']);
  });

  it('shrinks a pause of more than a tenth, and keeps the order of all times', async () => {
    const page = await openTree(
      treeOf(ran('root', 0, 0, 10), ran('b', 550, 550, 560), ran('c', 561, 561, 570)),
    );
    expect(await pausesOf(page)).toEqual(['9 min idle']);
    const shares = (await barsOf(page)).flat();
    expect(shares).toEqual(shares.toSorted((one, other) => one - other));
    expect(shares[1]).toBeGreaterThan(0.25);
    expect((shares[2] ?? 0) - (shares[1] ?? 0)).toBeCloseTo(0.08);
  });

  it('calls the time in which a task was retried neither idle nor a wait', async () => {
    const again = { sent: after(1), waitSeconds: 0, runtime: 1, retries: 1 };
    const page = await openTree(
      treeOf(ran('root', 0, 0, 1), task('again', { ...again, started: after(6), finished: after(7) })),
    );
    expect(await pausesOf(page)).toEqual(['5 s, retrying']);
    const fills = await page.evaluate<string[]>(
      "[...document.querySelectorAll('.wf-row i')].map((bar) => getComputedStyle(bar).backgroundImage)",
    );
    expect(fills.filter((fill) => fill !== 'none')).toEqual([]);
    const waiting = task('again', { state: 'RETRY', sent: after(1), retries: 2, eta: ago(-HOUR) });
    expect(await pausesOf(await openTree(treeOf(ran('root', 0, 0, 1), waiting)))).toEqual([
      expect.stringMatching(/^[23] h, retrying$/),
    ]);
  });

  it('shrinks a wait only if nothing could be read beside it', async () => {
    expect(await pausesOf(await openTree(treeOf(ran('root', 0, 3, 4), ran('b', 0, 3, 4))))).toEqual([]);
    expect(await pausesOf(await openTree(treeOf(ran('root', 0, 1, 2), ran('b', 0, 541, 542))))).toEqual([
      '8 min wait',
    ]);
  });

  it('shrinks at most six pauses, and has a place for a workflow that took no time', async () => {
    const runs = range(30).map((index) => ran(`t${index}`, index * 100, index * 100, index * 100 + 1));
    expect((await pausesOf(await openTree(treeOf(...runs)))).length).toBeLessThanOrEqual(6);
    const page = await openTree(treeOf(ran('root', 5, 5, 5), ran('b', 5, 5, 5)));
    expect((await barsOf(page)).map(([left]) => left)).toEqual([0, 0]);
  });

  it('has labels that do not overlap, whether it is of milliseconds or of hours', async () => {
    const lengths = [0.002, 0.5, 7, 100, 5_000];
    const trees = lengths.map((seconds) =>
      treeOf(ran(`root-${seconds}`, 0, 0, seconds), ran(`b-${seconds}`, 0, 0, seconds)),
    );
    const { page, go, settled } = await visit({ sources: treeSources(trees) }, '#/tasks', {
      expected: /501/,
    });
    for (const seconds of lengths) {
      await go('#/tasks');
      await go(`#/workflow/root-${seconds}`);
      await page.locator('.wf-row').first().waitFor();
      await settled();
      const boxes = await page
        .locator('.wf-tick')
        .evaluateAll((ticks) =>
          ticks.map((tick) => tick.getBoundingClientRect()).map(({ left, right }) => ({ left, right })),
        );
      expect(boxes.length).toBeGreaterThan(0);
      for (const [index, { left }] of boxes.slice(1).entries()) {
        expect([seconds, left]).toEqual([seconds, Math.max(left, boxes[index]?.right ?? 0)]);
      }
    }
  });
});
