/** Workflows of real engines in the waterfall and in the graph: canvases of Celery and a flow of BullMQ. */
import * as bullmq from 'bullmq';
import type { Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { bullmqSources } from '../../src/bullmq.ts';
import { celerySources } from '../../src/celery.ts';
import type { GraphUpdatesBody, TasksBody } from '../../src/wire.ts';
import { startBullMQ } from '../helpers/bullmq-app.ts';
import { celeryApp, celeryMissing } from '../helpers/celery-app.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { redisMissing, startRedis, titleUnless } from '../helpers/redis-server.ts';
import { type Host, serve, until } from '../router/host-kit.ts';
import { browserMissing, DESKTOP, type Look, type LookOptions, look, PHONE } from './browser.ts';
import { nodesOf, rowsOf } from './trees.ts';

const SIZES = { '1440 px': DESKTOP, '390 px': PHONE } as const;

/** What the page shows of a workflow. */
interface Shown {
  /** How many tasks there are, and what became of them. */
  readonly totals: string;
  /** The name of the root cause. */
  readonly cause: string | null;
  /** The rows of the waterfall once all are open, indented by depth; a faded one is in parentheses. */
  readonly rows: readonly string[];
  /** The nodes of the graph, sorted, with their states. */
  readonly nodes: readonly string[];
}

/** The name of the root cause: it stands above all rows, is marked, and is where the keys begin. */
async function causeOf(page: Page): Promise<string | null> {
  const names = await page.getByRole('region', { name: 'Root cause' }).getByRole('link').allTextContents();
  expect(await page.locator('.wf-is-cause .wf-link').allTextContents()).toEqual(names);
  if (names.length > 0) {
    expect(await page.locator('.wf-row[data-active] .wf-link').allTextContents()).toEqual(names);
  }
  return names[0] ?? null;
}

/** Nothing scrolls sideways, and no name is cut to nothing. */
async function checkLooks({ page, sideways }: Look): Promise<void> {
  expect(await sideways()).toBe(0);
  const hidden = await page
    .locator('.wf-row .wf-link')
    .evaluateAll((names) =>
      names.filter((name) => name.scrollWidth > name.clientWidth + 1).map(({ textContent }) => textContent),
    );
  expect(hidden).toEqual([]);
}

/** Opens a workflow as waterfall and graph, by keyboard alone. */
async function read({ base }: Host, id: string, size: LookOptions): Promise<Shown> {
  const address = `#/workflow/${encodeURIComponent(id)}`;
  const view = await look(base, address, size);
  const { page, settled, go } = view;
  await page.locator('.wf-row').first().waitFor();
  await settled();
  const totals = (await page.locator('.wf-totals').textContent())?.replace(/^.*?(?=\d+ tasks)/, '') ?? '';
  const cause = await causeOf(page);
  await page.keyboard.press('e');
  await settled();
  const rows = await rowsOf(page);
  await checkLooks(view);
  await go(`${address}?view=graph`);
  const nodes = page.locator('.graph-svg .node');
  await nodes.first().waitFor();
  await settled();
  const drawn = await nodesOf(page);
  await nodes.first().focus();
  await page.keyboard.press('Enter');
  await page.locator('.graph-svg .node[aria-pressed="true"]:focus').waitFor();
  await checkLooks(view);
  return { totals, cause, rows, nodes: drawn };
}

/** @param isOrdered whether the tasks have an order: those that are sent together stand in any */
async function check(host: Host, id: string, expected: Shown, isOrdered: boolean): Promise<void> {
  const path = `/api/tasks/${encodeURIComponent(id)}/graph/updates/`;
  await until(async () => (await host.get<GraphUpdatesBody>(path)).body.complete, 30_000);
  for (const [name, size] of Object.entries(SIZES)) {
    const shown = await read(host, id, size);
    const inOrder = (rows: readonly string[]) => (isOrdered ? rows : rows.toSorted());
    expect({ name, ...shown, rows: inOrder(shown.rows) }).toEqual({
      name,
      ...expected,
      rows: inOrder(expected.rows),
    });
  }
}

const ADD = 'canvas.add, SUCCESS';
const added = (count: number, depth: number): string[] =>
  Array(count).fill(`${'  '.repeat(depth)}✓ canvas.add`);

/** What `canvas_shown.py` sends. */
const CANVASES: Readonly<Record<string, Shown>> = {
  chain: { totals: '3 tasks', cause: null, rows: added(3, 0), nodes: [ADD, ADD, ADD] },
  broken_chain: {
    totals: '4 tasks, 1 failed, 2 never ran',
    cause: 'canvas.fail',
    rows: ['✓ canvas.add', '■ canvas.fail root cause', '(○ canvas.notify)', '(○ canvas.total)'],
    nodes: [ADD, 'canvas.fail, FAILURE', 'canvas.notify, never ran', 'canvas.total, never ran'],
  },
  group: {
    totals: '8 tasks',
    cause: null,
    rows: ['✓ group of 8', '  ✓ canvas.add ×8', ...added(8, 2)],
    nodes: [...Array(8).fill(ADD), 'group, 8 of 8 done'],
  },
  chord: {
    totals: '4 tasks',
    cause: null,
    rows: ['✓ group of 3', ...added(3, 1), '  ✓ canvas.total'],
    nodes: [ADD, ADD, ADD, 'canvas.total, SUCCESS', 'group, 3 of 3 done'],
  },
  broken_chord: {
    totals: '4 tasks, 1 failed, 1 never ran',
    cause: 'canvas.fail',
    rows: [
      '■ group of 3',
      '  ✓ canvas.add',
      '  ■ canvas.fail root cause',
      '  ✓ canvas.add',
      '  (○ canvas.notify)',
    ],
    nodes: [ADD, ADD, 'canvas.fail, FAILURE', 'canvas.notify, never ran', 'group, 2 of 3 done, 1 failed'],
  },
  nested: {
    totals: '5 tasks',
    cause: null,
    rows: [
      '✓ group of 2',
      ...added(1, 1),
      '✓ group of 2',
      ...added(2, 1),
      '  ✓ canvas.total',
      '  ✓ canvas.total',
    ],
    nodes: [
      ...[ADD, ADD, ADD, 'canvas.total, SUCCESS', 'canvas.total, SUCCESS'],
      ...['group, 2 of 2 done', 'group, 2 of 2 done'],
    ],
  },
};

const withoutCelery = browserMissing ?? redisMissing ?? celeryMissing;

describe.skipIf(withoutCelery)(titleUnless(withoutCelery, 'canvases of a running Celery'), () => {
  it('are shown as they went', { timeout: 300_000 }, async () => {
    const redis = await startRedis();
    const settings = {
      broker_url: redis.url(1),
      result_backend: redis.url(2),
      result_extended: true,
      task_send_sent_event: true,
      task_track_started: true,
      worker_hijack_root_logger: false,
    };
    const app = celeryApp({ ...settings, canvas_log: '/dev/null' }, 'canvas');
    onTestFinished(async () => {
      await app.close();
      await redis.close();
    });
    const sources = celerySources({ settings });
    const host = await serve(EXPRESS, { sources });
    await until(() => sources.tasks.status?.().ok === true);
    const running = app.script('canvas_shown.py');
    // Only waiting messages tell of the steps of a chain that never run.
    await until(
      async () => ((await host.get<TasksBody>('/api/tasks/?name=canvas.fail')).body.total ?? 0) === 1,
    );
    await app.worker('-n', 'w1@alpha', '-P', 'prefork', '-c', '2');
    const ids = (await running) as Record<string, string>;
    for (const [name, expected] of Object.entries(CANVASES)) {
      await check(host, ids[name] ?? '', expected, name.endsWith('chain'));
    }
  });
});

const withoutBullMQ = browserMissing ?? redisMissing;

describe.skipIf(withoutBullMQ)(titleUnless(withoutBullMQ, 'a flow of a running BullMQ'), () => {
  it('is shown as it went', { timeout: 120_000 }, async () => {
    const app = await startBullMQ(bullmq);
    onTestFinished(app.close);
    const host = await serve(EXPRESS, {
      sources: bullmqSources({ queues: [app.queue('order'), app.queue('step')] }),
    });
    app.worker('step', async ({ name }) => {
      if (name === 'charge') throw new Error('card declined');
      return 'done';
    });
    app.worker('order', async () => 'done');
    const opts = { failParentOnFailure: true };
    const step = (name: string) => ({ name, queueName: 'step', opts });
    const flow = await app.flow().add({
      name: 'place',
      queueName: 'order',
      children: [
        { name: 'pay', queueName: 'order', opts, children: [step('charge'), step('reserve')] },
        step('pack'),
      ],
    });
    await check(
      host,
      `order:${flow.job.id}`,
      {
        totals: '5 tasks, 1 failed, 2 never ran',
        cause: 'charge',
        rows: ['(○ place)', '  (○ pay)', '    ■ charge root cause', '    ✓ reserve', '  ✓ pack'],
        nodes: ['charge, FAILURE', 'pack, SUCCESS', 'pay, never ran', 'place, never ran', 'reserve, SUCCESS'],
      },
      false,
    );
  });
});
