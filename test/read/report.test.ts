import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { MonitorError } from '../../src/errors.ts';
import type { MonitorOptions } from '../../src/index.ts';
import type { SourceStatus } from '../../src/source.ts';
import type { ProblemBody, TasksBody } from '../../src/wire.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { serve } from '../router/host-kit.ts';
import { at, createShop, START } from '../router/shop-sources.ts';
import { setUp } from './read-kit.ts';

afterEach(() => {
  vi.useRealTimers();
});

const CONTEXT = { code: 'source_unavailable', source: 'fake', call: 'listTasks' } as const;

function fails(error: unknown): () => never {
  return () => {
    throw error;
  };
}

describe('without a hook, a report', () => {
  function warnings() {
    const emitWarning = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    onTestFinished(() => emitWarning.mockRestore());
    return emitWarning;
  }

  const REDACTED = {
    onError: undefined as never,
    redact: (text: string) => text.replaceAll('hunter2', '***'),
  };

  it('warns of the first error of each code, without secrets and in one line', async () => {
    const emitWarning = warnings();
    const errors = [new Error('hunter2 is\nwrong'), new Error('again')];
    const authorize: MonitorOptions['authorize'] = (_request, route) => {
      if (route === 'workers') throw new TypeError('authorize failed');
      return true;
    };
    const { ask, get } = await setUp(() => fails(errors.shift())(), { ...REDACTED, authorize });
    for (const limit of [1, 2]) await ask(limit);
    await get('/api/workers/');
    expect(emitWarning.mock.calls).toEqual([
      [
        '"Error: *** is\\nwrong" (fake, listTasks). Further errors of this kind are not printed: set onError to receive them.',
        { type: 'ExpressTaskMonitorWarning', code: 'EXPRESS_TASK_MONITOR_SOURCE_UNAVAILABLE' },
      ],
      [
        '"TypeError: authorize failed" (authorize). Further errors of this kind are not printed: set onError to receive them.',
        { type: 'ExpressTaskMonitorWarning', code: 'EXPRESS_TASK_MONITOR_FORBIDDEN' },
      ],
    ]);
  });

  it('does not warn of bugs, which Express prints, nor of overload, which passes', async () => {
    const emitWarning = warnings();
    const tasks = {
      name: 'fake',
      listTasks: fails(new MonitorError('overloaded')),
      getTask: () => null,
    };
    const { redact, onError } = REDACTED;
    const sources = { tasks, close: fails(new Error('bug')), redact };
    const { get, router } = await serve(EXPRESS, { onError, sources });
    expect((await get('/api/tasks/')).status).toBe(503);
    await router.close();
    expect(emitWarning).not.toHaveBeenCalled();
  });
});

describe('a report', () => {
  it('hands the host what was thrown, and where it came from', async () => {
    const onError = vi.fn();
    const error = new Error('secret');
    const { ask } = await setUp(fails(error), { onError });
    await ask();
    expect(onError.mock.calls).toEqual([[error, { ...CONTEXT, suppressed: 0 }]]);
  });

  it('keeps back the like of it for 30 s, and then says how many', async () => {
    const onError = vi.fn();
    const sources = {
      tasks: { name: 'fake', listTasks: fails(new Error()), getTask: fails(new Error()) },
    };
    const { get } = await serve(EXPRESS, { sources, onError });
    vi.useFakeTimers({ toFake: ['performance'] });
    for (let count = 0; count < 10; count += 1) await get('/api/tasks/');
    await get('/api/tasks/a/');
    vi.advanceTimersByTime(29_999);
    await get('/api/tasks/');
    expect(onError).toHaveBeenCalledTimes(2);
    vi.advanceTimersByTime(1);
    await get('/api/tasks/');
    expect(onError).toHaveBeenLastCalledWith(expect.any(Error), { ...CONTEXT, suppressed: 10 });
  });

  it.each([
    ['throws', fails(new Error('host'))],
    ['rejects', () => Promise.reject(new Error('host'))],
  ])('does not mind a hook that %s', async (_, hook) => {
    const onError = vi.fn(hook as () => void);
    const { ask } = await setUp(fails(new Error()), { onError });
    expect((await ask()).code).toBe('source_unavailable');
    expect(onError).toHaveBeenCalledTimes(1);
  });
});

describe('the freshness of a part', () => {
  /** A shop whose tasks have this `status`. */
  async function shopWith(status?: () => unknown) {
    vi.useFakeTimers({ toFake: ['Date'], now: START + 90_000 });
    const shop = createShop();
    const { status: _, ...tasks } = shop.sources.tasks;
    const onError = vi.fn();
    const sources = { tasks: { ...tasks, ...(status && { status: status as () => SourceStatus }) } };
    const { get } = await serve(EXPRESS, { sources, onError });
    const ask = async () => (await get<TasksBody & ProblemBody>('/api/tasks/')).body;
    return { ask, onError, calls: shop.calls };
  }
  const NOW = new Date(START + 90_000).toISOString();

  it('is that of the moment when the part does not say', async () => {
    const { ask, calls } = await shopWith();
    expect((await ask()).sources).toEqual([
      { name: 'shop', engine: null, ok: true, as_of: NOW, error: null },
    ]);
    await ask();
    expect(calls.listTasks).toBe(2);
  });

  it('reports why a part is not fresh, but not of one that has just started', async () => {
    const status: { ok: boolean; asOf: Date; reason: string | null } = {
      ok: false,
      asOf: at(1),
      reason: null,
    };
    const { ask, onError } = await shopWith(() => status);
    await ask();
    expect(onError).not.toHaveBeenCalled();
    status.reason = 'Nothing listens there.';
    await ask();
    expect(onError).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ code: 'source_unavailable', message: 'Nothing listens there.' }),
      { code: 'source_unavailable', source: 'shop', call: 'status', suppressed: 0 },
    );
  });

  it.each([
    ['is no object', () => null],
    ['has no ok', () => ({ asOf: at(1) })],
    ['has an ok that is no boolean', () => ({ ok: 'yes', asOf: at(1) })],
    ['throws', fails(new Error('no'))],
  ])('is that of an outage when its status %s', async (_, status) => {
    const { ask, onError, calls } = await shopWith(status);
    expect((await ask()).code).toBe('source_unavailable');
    expect(calls).toEqual({});
    expect(onError).toHaveBeenCalledTimes(1);
    expect(onError.mock.lastCall?.[1]).toMatchObject({ source: 'shop', call: 'status' });
  });

  it('never trusts a moment that is none: such an answer is computed each time', async () => {
    const none = new Date(Number.NaN);
    const { ask, calls } = await shopWith(() => ({
      ...{ ok: true, asOf: none, revision: 1, changesAt: none },
    }));
    expect((await ask()).sources).toMatchObject([{ ok: true, as_of: NOW }]);
    await ask();
    expect(calls.listTasks).toBe(2);
  });

  it('names an outage by a code of sources, whatever the part calls it', async () => {
    const { ask } = await shopWith(() => ({ ok: false, asOf: at(1), error: 'forbidden' }));
    expect((await ask()).sources).toMatchObject([{ ok: false, error: 'source_unavailable' }]);
  });
});
