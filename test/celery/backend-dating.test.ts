import { describe, expect, it } from 'vitest';
import { resultKeys } from '../../src/sources/celery/backends/redis/result-keys.ts';
import { createDating } from '../../src/sources/celery/results/dating.ts';

const NOW = Date.UTC(2026, 10, 21, 12);
const HOUR = 3_600_000;

describe('a stored result without a date', () => {
  it('was written when its key had its whole life before it, which is the setting result_expires', () => {
    const dating = createDating({ result_expires: 3600 });
    expect(dating.needsSamples()).toBe(false);
    expect(dating.writtenAt(HOUR - 5000, NOW)).toBe(NOW - 5000);
    expect(dating.writtenAt(HOUR, NOW)).toBe(NOW);
    // A key is never younger than new.
    expect(dating.writtenAt(HOUR + 300, NOW)).toBe(NOW);
  });

  it('or what dated results show, or a day as Celery has it', () => {
    const dating = createDating({});
    expect(dating.writtenAt(23 * HOUR, NOW)).toBe(NOW - HOUR);
    for (const age of [10, 2 * HOUR, 700, 5 * HOUR]) dating.sample(NOW - age, 7 * HOUR - age + 3, NOW);
    expect(dating.needsSamples()).toBe(true);
    expect(dating.writtenAt(6 * HOUR, NOW)).toBe(NOW - HOUR - 3);
    // One of another app does not change that.
    dating.sample(NOW - 10, 40 * HOUR, NOW);
    expect(dating.writtenAt(6 * HOUR, NOW)).toBe(NOW - HOUR - 3);
    for (let more = 0; more < 15; more += 1) dating.sample(NOW, 7 * HOUR, NOW);
    expect(dating.needsSamples()).toBe(false);
  });

  it('has no date when its key lives for ever, too long, or nothing is usual', () => {
    expect(createDating({}).writtenAt(-1, NOW)).toBeNull();
    expect(createDating({}).writtenAt(-2, NOW)).toBeNull();
    expect(createDating({}).writtenAt(25 * HOUR, NOW)).toBeNull();
    expect(createDating({ result_expires: 60 }).writtenAt(HOUR, NOW)).toBeNull();
    const mixed = createDating({ result_expires: null });
    for (const life of [1, 2, 3, 4]) mixed.sample(NOW, life * HOUR, NOW);
    expect(mixed.writtenAt(HOUR, NOW)).toBeNull();
    const eternal = createDating({});
    eternal.sample(NOW, -1, NOW);
    expect(eternal.writtenAt(23 * HOUR, NOW)).toBe(NOW - HOUR);
  });
});

describe('the keys of stored results', () => {
  const prefixed = (prefix: string) =>
    resultKeys({ result_backend_transport_options: { global_keyprefix: prefix } });

  it('begin with the prefix of the backend, and with _ behind it unless it ends in a separator', () => {
    expect(resultKeys({}).task('a')).toBe('celery-task-meta-a');
    expect(prefixed('acme').task('a')).toBe('acme_celery-task-meta-a');
    expect(prefixed('acme:').task('a')).toBe('acme:celery-task-meta-a');
    // That of the broker does not matter.
    const broker = { broker_transport_options: { global_keyprefix: 'shop:' } };
    expect(resultKeys(broker).task('a')).toBe('celery-task-meta-a');
  });

  it('are those of tasks and of groups', () => {
    const keys = prefixed('a*b:');
    expect(keys.pattern).toBe('a\\*b:celery-task*');
    expect(keys.taskOf('a*b:celery-task-meta-order:1234/ä')).toBe('order:1234/ä');
    for (const key of ['celery-task-meta-x', 'a*b:celery-task-meta-', 'a*b:celery-taskset-meta-g', '']) {
      expect(keys.taskOf(key)).toBeNull();
    }
    expect(keys.taskOf(`a*b:celery-task-meta-${'x'.repeat(513)}`)).toBeNull();
    expect(keys.isGroup('a*b:celery-taskset-meta-g')).toBe(true);
    for (const end of ['g.j', 'g.s', 'g.t'])
      expect(keys.isGroup(`a*b:celery-taskset-meta-${end}`)).toBe(false);
    expect(keys.isGroup('a*b:celery-task-meta-g')).toBe(false);
  });
});
