import { describe, expect, it } from 'vitest';
import type { TaskDetail } from '../../src/model.ts';
import { createRedactor } from '../../src/redact.ts';
import { createSerializer } from '../../src/serialize.ts';

const serializer = createSerializer({ redactor: createRedactor() });
const shown = (detail: object) =>
  serializer.taskDetail({ id: 'a', state: 'STARTED', ...detail } as TaskDetail, 's');
const at = (second: number): Date => new Date(Date.UTC(2026, 10, 21, 2, 0, second));

describe('the page of a task', () => {
  it('has its attempts, its options and its log', () => {
    const body = shown({
      attempts: [{ number: 1, started: at(1), finished: at(2), error: 'OSError: no' }],
      options: { attempts: 3, token: 'abc' },
      log: { lines: ['dialling', 'password=hunter2'], total: 7 },
    });
    expect(body?.attempts).toEqual([
      {
        number: 1,
        started: '2026-11-21T02:00:01.000Z',
        finished: '2026-11-21T02:00:02.000Z',
        error: 'OSError: no',
      },
    ]);
    expect(body?.options).toBe('{"attempts":3,"token":"***"}');
    expect(body?.log).toEqual({ lines: ['dialling', 'password=***'], total: 7 });
  });

  it('says null where the engine has none, and none where there are none', () => {
    expect(shown({})).toMatchObject({ attempts: null, options: null, log: null });
    expect(shown({ attempts: [], options: '', log: { lines: [], total: 0 } })).toMatchObject({
      ...{ attempts: [], options: '', log: { lines: [], total: 0 } },
    });
  });

  it('has the last 100 attempts and lines, each cut', () => {
    const attempts = Array.from({ length: 300 }, (_, n) => ({ number: n + 1, error: 'e'.repeat(5_000) }));
    const lines = Array.from({ length: 300 }, (_, n) => `${n} ${'x'.repeat(5_000)}`);
    const body = shown({ attempts, log: { lines, total: 300 } });
    expect(body?.attempts).toHaveLength(100);
    expect(body?.attempts?.at(-1)).toMatchObject({ number: 300, started: null, finished: null });
    expect(body?.attempts?.at(-1)?.error).toHaveLength(1_024);
    expect(body?.log?.lines).toHaveLength(100);
    expect(body?.log?.lines.at(-1)).toMatch(/^299 x+…$/);
    expect(body?.log?.lines.at(-1)).toHaveLength(2_000);
    expect(body?.log?.total).toBe(300);
  });

  it.each<[object, object]>([
    [{ attempts: 'three' }, { attempts: null }],
    [
      { attempts: [null, 5, {}, { number: 0 }, { number: 1.5 }, { number: 2, started: 'now' }] },
      { attempts: [{ number: 2, started: null, finished: null, error: null }] },
    ],
    [{ log: ['a'] }, { log: null }],
    [{ log: { lines: 'a' } }, { log: null }],
    [{ log: { lines: ['a', null, undefined], total: -3 } }, { log: { lines: ['a'], total: 3 } }],
    [{ log: { lines: ['a'], total: Number.NaN } }, { log: { lines: ['a'], total: 1 } }],
    [{ options: Symbol('x') }, { options: null }],
  ])('shows of %o what can be read', (detail, expected) => {
    expect(shown(detail)).toMatchObject(expected);
  });
});
