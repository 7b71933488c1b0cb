import { describe, expect, it } from 'vitest';
import { workerChangeOf } from '../../src/sources/celery/protocol/worker-events.ts';

const common = { hostname: 'w1@alpha', utcoffset: -1, pid: 7, clock: 3, timestamp: 1795229750.5 };

describe('an event about a worker', () => {
  const heartbeat = {
    ...common,
    type: 'worker-heartbeat',
    freq: 2.5,
    active: 1,
    processed: 9,
    loadavg: [2.27, 1.89, 1.51],
    sw_ident: 'py-celery',
    sw_ver: '5.6.3',
    sw_sys: 'Linux',
  };

  it('tells its figures', () => {
    expect(workerChangeOf(heartbeat)).toEqual({
      hostname: 'w1@alpha',
      type: 'heartbeat',
      time: 1795229750500,
      interval: 2.5,
      pid: 7,
      active: 1,
      processed: 9,
      loadAverage: [2.27, 1.89, 1.51],
      software: 'py-celery 5.6.3',
    });
    expect(workerChangeOf({ ...heartbeat, type: 'worker-online' })?.type).toBe('online');
    expect(workerChangeOf({ ...heartbeat, type: 'worker-offline' })?.type).toBe('offline');
  });

  it('does not take the interval of a heartbeat that was asked for', () => {
    const { active: _, processed: __, loadavg: ___, ...forced } = { ...heartbeat, freq: 5 };
    expect(workerChangeOf(forced)).toEqual({
      hostname: 'w1@alpha',
      type: 'heartbeat',
      time: 1795229750500,
      pid: 7,
      software: 'py-celery 5.6.3',
    });
  });

  it('says nothing when it is of the election of a leader, or lacks a name or a time', () => {
    expect(workerChangeOf({ ...heartbeat, type: 'worker-elect' })).toBeNull();
    expect(workerChangeOf({ ...heartbeat, hostname: undefined })).toBeNull();
    expect(workerChangeOf({ ...heartbeat, timestamp: null })).toBeNull();
    expect(workerChangeOf({ ...heartbeat, loadavg: ['x'], freq: 0 })).not.toHaveProperty('interval');
  });
});
