import { describe, expect, it } from 'vitest';
import { brokerEndpoint } from '../../src/sources/celery/brokers/redis/endpoints.ts';
import {
  foreignScheduler,
  namesRedbeat,
  redbeatEndpoint,
  redbeatTiming,
} from '../../src/sources/celery/schedules/redbeat-settings.ts';

describe('the settings of redbeat', () => {
  it('name another Redis than the broker, or none', () => {
    const broker = brokerEndpoint('redis://broker:6379/1', {});
    expect(redbeatEndpoint({}, broker)).toBe(broker);
    expect(redbeatEndpoint({ redbeat_redis_url: 'redis://:pw@beat:6379/5' }, broker)).toMatchObject({
      url: 'redis://beat:6379/5',
      database: 5,
    });
    expect(redbeatEndpoint({ redbeat_redis_url: 'redis-cluster://beat:30001/0' }, broker)).toBe(null);
  });

  it('tell how long the lock holds only where somebody tells of them', () => {
    expect(redbeatTiming([{}])).toEqual({ pause: 300, lockTimeout: null });
    expect(redbeatTiming([{ redbeat_redis_url: 'redis://x' }])).toEqual({ pause: 300, lockTimeout: 1500 });
    expect(redbeatTiming([{}, { redbeat_lock_timeout: 60 }])).toEqual({ pause: 300, lockTimeout: 60 });
    expect(redbeatTiming([{ beat_max_loop_interval: 5 }])).toEqual({ pause: 5, lockTimeout: 25 });
  });

  it('name the scheduler', () => {
    expect(namesRedbeat({ beat_scheduler: 'redbeat.RedBeatScheduler' })).toBe(true);
    expect(namesRedbeat({ timezone: 'UTC' })).toBe(false);
    const schedulers = ['redbeat.RedBeatScheduler', 'celery.beat:PersistentScheduler', 'my.Scheduler', '', 5];
    expect(schedulers.map((beat_scheduler) => foreignScheduler({ beat_scheduler }))).toEqual([
      null,
      null,
      'my.Scheduler',
      null,
      null,
    ]);
  });
});
