import { describe, expect, it } from 'vitest';
import { brokerEndpoint } from '../../src/sources/celery/brokers/redis/endpoints.ts';
import { redbeatLocation } from '../../src/sources/celery/brokers/redis/redbeat-endpoint.ts';
import {
  foreignScheduler,
  namesRedbeat,
  redbeatTiming,
} from '../../src/sources/celery/schedules/redbeat-settings.ts';

describe('the settings of redbeat', () => {
  it('name another Redis than the broker, or none', () => {
    const broker = brokerEndpoint('redis://broker:6379/1', {});
    expect(redbeatLocation({}, broker)).toEqual({ endpoint: broker, hint: null });
    expect(redbeatLocation({}, null)).toEqual({ endpoint: null, hint: null });
    expect(redbeatLocation({ redbeat_redis_url: 'redis://:pw@beat:6379/5' }, broker)).toMatchObject({
      endpoint: { url: 'redis://beat:6379/5', database: 5 },
      hint: null,
    });
    expect(redbeatLocation({ redbeat_redis_url: 'redis-cluster://:pw@beat:30001/0' }, broker)).toEqual({
      endpoint: null,
      hint:
        "redbeat_redis_url begins with redis-cluster:, which this source cannot read, so redbeat's entries are not " +
        'shown. It reads redis:, rediss: and redis-sentinel: addresses.',
    });
  });

  it('list the Sentinels that know its Redis, or say which setting lists them', () => {
    const redbeat_redis_url = 'redis-sentinel://ignored:26379/0';
    const sentinels = [['10.0.0.1', 26_379], ['::1', 26_380], 'nonsense', ['10.0.0.2']];
    const options = { sentinels, service_name: 'shop', password: 'p@w', db: 3 };
    expect(redbeatLocation({ redbeat_redis_url, redbeat_redis_options: options }, null)).toMatchObject({
      endpoint: {
        database: 3,
        url: 'sentinel://10.0.0.1:26379/3;sentinel://[::1]:26380/3;sentinel://10.0.0.2:26379/3',
      },
      hint: null,
    });
    const settings = { redbeat_redis_url, redbeat_redis_options: {} };
    expect(redbeatLocation(settings, null)).toMatchObject({
      endpoint: null,
      hint: expect.stringContaining('settings: { redbeat_redis_options: { sentinels: '),
    });
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
