/** Stored results: when they are read at the start, and looked up for tasks that are older than all that is kept. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { PublishedHandlers, ResultBackend } from '../../src/sources/celery/result-backend.ts';
import { type ArrayDeployment, holdTime, metaOf, openArrayDeployment, pass } from './array-deployment.ts';

type State = ReturnType<ResultBackend['published']['state']>;
const DOWN: State = { up: false, asOf: null, since: null, reconnects: 0, problem: null };

describe('reading what is stored', () => {
  let state: State;
  let listener: PublishedHandlers | null;
  /** How often everything was read. */
  let scans: number;

  beforeEach(() => {
    holdTime(Date.UTC(2026, 10, 21, 3));
    state = DOWN;
    scans = 0;
    openArrayDeployment({
      hasBroker: false,
      backend: (backend) => ({
        ...backend,
        published: {
          channels: [],
          state: () => state,
          start(handlers) {
            listener = handlers;
          },
        },
        stored: {
          ...backend.stored,
          scan(...from) {
            scans += 1;
            return backend.stored.scan(...from);
          },
        },
      }),
    });
  });

  it('begins when published results are heard, so that none is missed in between', async () => {
    await pass(1_000);
    expect(scans).toBe(0);
    state = { ...DOWN, up: true };
    listener?.up(false);
    await pass(1);
    expect(scans).toBe(1);
  });

  it('begins without them when they cannot be heard, and once more when they are', async () => {
    state = { ...DOWN, problem: { code: 'NOPERM', sentence: 'No.' } as State['problem'] };
    await pass(1_000);
    expect(scans).toBe(1);
    listener?.up(false);
    await pass(1_000);
    expect(scans).toBe(2);
  });

  it('begins without them when the first attempt does not end', async () => {
    await pass(4_900);
    expect(scans).toBe(0);
    await pass(200);
    expect(scans).toBe(1);
  });
});

describe('tasks that only the backend knows, because they are older than all that is kept', () => {
  const old = '2001-01-01T00:00:00';

  function open(metas: Readonly<Record<string, object>>): ArrayDeployment {
    const deployment = openArrayDeployment({ retention: { maxValueLength: 100 } });
    for (const [id, meta] of Object.entries(metas)) {
      deployment.stored.push({ id, text: metaOf(id, { date_done: old, ...meta }), isCut: false });
    }
    return deployment;
  }

  it('are shown, with values no longer than what is kept', async () => {
    const deployment = open({
      a: { name: 'shop.add', worker: 'w1@alpha' },
      long: { result: 'x'.repeat(1_000) },
    });
    expect(await deployment.task('nobody')).toBeNull();
    expect(await deployment.task('a')).toMatchObject({
      ...{ state: 'SUCCESS', name: 'shop.add', worker: 'w1@alpha', result: '4' },
      finished: new Date(`${old}Z`),
    });
    const long = await deployment.task('long');
    expect([String(long?.result).length, long?.truncated]).toEqual([100, ['result']]);
    expect(
      (await deployment.sources.history.getHistoryStats({ signal: new AbortController().signal })).tasks,
    ).toBe(0);
  });

  it('may be their own ancestors', async () => {
    const deployment = open({ x: { parent_id: 'y' }, y: { parent_id: 'x' } });
    expect((await deployment.tree('x'))?.tasks.map(({ id }) => id)).toEqual(['x', 'y']);
  });
});
