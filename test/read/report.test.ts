import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { freshnessOf } from '../../src/read/freshness.ts';
import { createReport } from '../../src/read/report.ts';

const CONTEXT = { code: 'source_unavailable', source: 'celery', call: 'listTasks' } as const;

function setUp(onError = vi.fn()) {
  let time = 0;
  const report = createReport({ onError, redact: (text) => text, now: () => time });
  return {
    report,
    onError,
    wait(milliseconds: number) {
      time += milliseconds;
    },
  };
}

describe('without a hook, a report', () => {
  function warnings() {
    const emitWarning = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    onTestFinished(() => emitWarning.mockRestore());
    return emitWarning;
  }

  const REDACTED = { onError: null, redact: (text: string) => text.replaceAll('hunter2', '***') };

  it('warns of the first error of each code, without secrets and in one line', () => {
    const emitWarning = warnings();
    const report = createReport(REDACTED);
    report(new Error('hunter2 is\nwrong'), CONTEXT);
    report(new Error('again'), { ...CONTEXT, call: 'getTask' });
    report(new TypeError('authorize failed'), { code: 'forbidden', source: null, call: 'authorize' });
    expect(emitWarning.mock.calls).toEqual([
      [
        '"Error: *** is\\nwrong" (celery, listTasks). Further errors of this kind are not printed: set onError to receive them.',
        { type: 'ExpressTaskMonitorWarning', code: 'EXPRESS_TASK_MONITOR_SOURCE_UNAVAILABLE' },
      ],
      [
        '"TypeError: authorize failed" (authorize). Further errors of this kind are not printed: set onError to receive them.',
        { type: 'ExpressTaskMonitorWarning', code: 'EXPRESS_TASK_MONITOR_FORBIDDEN' },
      ],
    ]);
  });

  it('does not warn of bugs, which Express prints, nor of overload, which passes', () => {
    const emitWarning = warnings();
    const report = createReport(REDACTED);
    report(new Error('bug'), { code: null, source: null, call: 'tasks' });
    report(new Error('full'), { ...CONTEXT, code: 'overloaded' });
    expect(emitWarning).not.toHaveBeenCalled();
  });

  it('does not warn when the host has a hook', () => {
    const emitWarning = warnings();
    setUp().report(new Error(), CONTEXT);
    expect(emitWarning).not.toHaveBeenCalled();
  });
});

describe('a report', () => {
  it('hands the host what was thrown, and where it came from', () => {
    const { report, onError } = setUp();
    const error = new Error('secret');
    report(error, CONTEXT);
    expect(onError.mock.calls).toEqual([[error, { ...CONTEXT, suppressed: 0 }]]);
  });

  it('keeps back the like of it for 30 s, and then says how many', () => {
    const { report, onError, wait } = setUp();
    for (let count = 0; count < 1_000; count += 1) report(new Error(), CONTEXT);
    report(new Error(), { ...CONTEXT, call: 'getTask' });
    expect(onError).toHaveBeenCalledTimes(2);
    wait(30_000);
    report(new Error(), CONTEXT);
    expect(onError).toHaveBeenLastCalledWith(expect.any(Error), { ...CONTEXT, suppressed: 999 });
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('host');
      },
    ],
    ['rejects', () => Promise.reject(new Error('host'))],
  ])('does not mind a hook that %s', (_, hook) => {
    const { report } = setUp(vi.fn(hook));
    expect(() => report(new Error(), CONTEXT)).not.toThrow();
  });

  it('does not mind a value that cannot be looked at', () => {
    const hostile = new Proxy(
      {},
      {
        get() {
          throw new Error('no');
        },
        getPrototypeOf() {
          throw new Error('no');
        },
      },
    );
    const { report, onError } = setUp();
    report(hostile, CONTEXT);
    expect(onError).toHaveBeenCalledTimes(1);
  });
});

describe('the freshness of a part', () => {
  const NOW = Date.UTC(2026, 10, 21);
  const THEN = new Date(NOW - 60_000);

  it('is that of the moment when the part does not say', () => {
    expect(freshnessOf({ name: 'a' }, NOW, () => {})).toEqual({
      sources: [{ name: 'a', engine: null, ok: true, asOf: NOW, error: null }],
      ok: true,
      outages: '',
      revision: null,
      changesAt: Infinity,
    });
  });

  it('is what the part says', () => {
    const status = () => ({
      ok: false,
      asOf: THEN,
      error: 'source_timeout' as const,
      revision: 7,
      changesAt: THEN,
    });
    expect(freshnessOf({ name: 'a', status }, NOW, () => {})).toEqual({
      sources: [{ name: 'a', engine: null, ok: false, asOf: NOW - 60_000, error: 'source_timeout' }],
      ok: false,
      outages: 'a source_timeout',
      revision: 7,
      changesAt: NOW - 60_000,
    });
  });

  it('reports why a part is not fresh, but not of one that has just started', () => {
    const report = vi.fn();
    const status = (reason: string | null) => () => ({ ok: false, asOf: null, reason });
    freshnessOf({ name: 'a', status: status(null) }, NOW, report);
    expect(report).not.toHaveBeenCalled();
    freshnessOf({ name: 'a', status: status('Nothing listens there.') }, NOW, report);
    expect(report).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ code: 'source_unavailable', message: 'Nothing listens there.' }),
      { code: 'source_unavailable', source: 'a', call: 'status' },
    );
  });

  it.each([
    ['no object', null],
    ['no ok', { asOf: THEN }],
    ['an ok that is no boolean', { ok: 'yes', asOf: THEN }],
  ])('is that of an outage when its status has %s', (_, result) => {
    const report = vi.fn();
    const part = { name: 'a', status: () => result as never };
    expect(freshnessOf(part, NOW, report)).toMatchObject({
      ok: false,
      sources: [{ ok: false, asOf: null, error: 'source_unavailable' }],
    });
    expect(report).toHaveBeenCalledTimes(1);
  });

  it('is that of an outage when its status throws', () => {
    const status = () => {
      throw new Error('no');
    };
    expect(freshnessOf({ name: 'a', status }, NOW, () => {})).toMatchObject({
      sources: [{ ok: false, asOf: null }],
    });
  });

  it('never trusts a moment that is none: such an answer is computed each time', () => {
    const status = () => ({
      ok: true,
      asOf: new Date(Number.NaN),
      revision: 1,
      changesAt: new Date(Number.NaN),
    });
    expect(freshnessOf({ name: 'a', status }, NOW, () => {})).toMatchObject({
      sources: [{ asOf: NOW }],
      changesAt: -Infinity,
    });
  });

  it('names an outage by a code of sources, whatever the part calls it', () => {
    const status = () => ({ ok: false, asOf: THEN, error: 'forbidden' as const });
    expect(freshnessOf({ name: 'a', status }, NOW, () => {})).toMatchObject({
      sources: [{ error: 'source_unavailable' }],
    });
  });
});
