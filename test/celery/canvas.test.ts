import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { celeryMissing } from '../helpers/celery-app.ts';
import { context } from '../helpers/celery-events.ts';
import { redisMissing, titleUnless, until } from '../helpers/redis-server.ts';
import { type CanvasMode, type CanvasRun, runCanvases } from './canvas-run.ts';
import { differencesOf, falsehoodsOf, type Shown } from './canvas-truth.ts';
import { shuffledTellings, type Telling, tellingsOf, toldDeployment } from './lineage-tellings.ts';

const missing = redisMissing ?? celeryMissing;

const MODES: readonly (CanvasMode & { title: string })[] = [
  {
    title: 'sent while workers run, with extended results',
    submits: 'while workers run',
    settings: { result_extended: true },
  },
  { title: 'sent before a worker starts', submits: 'first', settings: {} },
];

const ORDERS: readonly [string, (tellings: readonly Telling[]) => readonly Telling[]][] = [
  ['as it came', (tellings) => tellings],
  ['in any order', (tellings) => shuffledTellings(tellings, 1)],
  ['in any other order, twice', (tellings) => shuffledTellings([...tellings, ...tellings], 2)],
];

describe.skipIf(missing !== null)(titleUnless(missing, 'every canvas of a running Celery'), () => {
  describe.each(MODES)('$title', checkMode);
});

function checkMode(mode: CanvasMode): void {
  const sawWaiting = mode.submits === 'first';
  let run: CanvasRun;

  beforeAll(async () => {
    run = await runCanvases(mode);
  }, 180_000);

  afterAll(async () => {
    await run?.close();
  }, 30_000);

  it('has run to its end as it should', () => {
    const others = run.truth.tasks.filter(
      ({ state, client, ignored, case: name }) =>
        client !== state && ignored !== true && name !== 'custom end',
    );
    expect(others).toEqual([]);
    expect(run.truth.tasks.length).toBeGreaterThan(90);
  });

  it.each(ORDERS)('is told by what was recorded: %s', async (_, order) => {
    const { sources, ...shown } = await toldDeployment(order(tellingsOf(run)));
    expect(await differencesOf(run.truth, shown, sawWaiting)).toEqual([]);
    await sources.close();
  });

  it('is not told wrongly by a part of it', { timeout: 600_000 }, async () => {
    for (let seed = 1; seed <= 10; seed += 1) {
      const tellings = shuffledTellings(tellingsOf(run), seed);
      const { sources, ...shown } = await toldDeployment(tellings.slice((tellings.length * seed) / 11));
      expect([seed, await falsehoodsOf(run.truth, shown)]).toEqual([seed, []]);
      await sources.close();
    }
  });

  it('is shown, with states, times and relations', { timeout: 60_000 }, async () => {
    const { tasks } = run.sources;
    const shown: Shown = {
      task: async (id) => await tasks.getTask(id, context),
      tree: async (id) => (await tasks.getTaskTree?.(id, context)) ?? null,
    };
    const wrong = () => differencesOf(run.truth, shown, sawWaiting);
    await until(async () => (await wrong()).length === 0).catch(() => {});
    expect(await wrong()).toEqual([]);
  });
}
