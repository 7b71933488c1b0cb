import { describe, expect, it } from 'vitest';
import type { Component, TaskEvent, Worker } from '../../src/model.ts';
import { createRedactor } from '../../src/redact.ts';
import { createSerializer } from '../../src/serialize.ts';

const serializer = createSerializer({ redactor: createRedactor() });
const NOW = new Date('2026-11-21T02:00:10.900Z');

describe('a worker', () => {
  const worker: Worker = {
    hostname: 'celery@host',
    status: 'online',
    lastHeartbeat: new Date('2026-11-21T02:00:00.000Z'),
    pid: 7,
    pool: 'prefork',
    poolSize: 4,
    concurrency: 4,
    active: 0,
    processed: 12,
    registeredTasks: ['a', 'b'],
    queues: ['orders'],
    software: 'py-celery 5.6.3',
    loadAverage: [0.5, 0.25, 0],
    uptimeSeconds: 60.5,
  };

  it('has every field', () => {
    expect(serializer.worker(worker, 'celery', NOW)).toEqual({
      hostname: 'celery@host',
      status: 'online',
      last_heartbeat: '2026-11-21T02:00:00.000Z',
      last_seen_seconds: 10,
      pid: 7,
      pool: 'prefork',
      pool_size: 4,
      concurrency: 4,
      active: 0,
      processed: 12,
      registered: 2,
      registered_tasks: ['a', 'b'],
      queues: ['orders'],
      software: 'py-celery 5.6.3',
      load_average: [0.5, 0.25, 0],
      uptime_seconds: 60.5,
      source: 'celery',
    });
  });

  it('tells nothing known from none', () => {
    const bare = { hostname: 'h', status: 'offline' } as const;
    const row = serializer.worker(bare, 's', NOW);
    const { hostname: _h, status: _s, source: _o, ...rest } = row ?? {};
    expect(new Set(Object.values(rest))).toEqual(new Set([null]));
    expect(
      serializer.worker({ ...bare, registeredTasks: [], queues: [], loadAverage: [] }, 's', NOW),
    ).toMatchObject({
      registered: 0,
      registered_tasks: [],
      queues: [],
      load_average: [],
    });
  });

  it('was never seen before its heartbeat was sent', () => {
    const early = new Date('2026-11-21T01:00:00.000Z');
    expect(serializer.worker(worker, 's', early)?.last_seen_seconds).toBe(0);
    expect(serializer.worker(worker, 's', new Date(Number.NaN))?.last_seen_seconds).toBeNull();
  });

  it.each<[string, unknown]>([
    ['no hostname', { status: 'online' }],
    ['no status', { hostname: 'h' }],
    ['a status that is none', { hostname: 'h', status: 'busy' }],
    ['nothing at all', null],
  ])('is none with %s', (_what, given) => {
    expect(serializer.worker(given as Worker, 's', NOW)).toBeNull();
  });
});

describe('an item of the feed', () => {
  it('has every field, its detail redacted and cut', () => {
    const event: TaskEvent = {
      id: '1',
      type: 'task-failed',
      task: 'shop.charge',
      taskId: 'a',
      state: 'FAILURE',
      worker: 'celery@host',
      timestamp: new Date(0),
      detail: `token=abc ${'x'.repeat(300)}`,
    };
    expect(serializer.event(event)).toEqual({
      id: '1',
      type: 'task-failed',
      task: 'shop.charge',
      task_id: 'a',
      state: 'FAILURE',
      worker: 'celery@host',
      timestamp: '1970-01-01T00:00:00.000Z',
      detail: `token=*** ${'x'.repeat(245)}…`,
    });
    expect(serializer.event({ id: '2', type: 'worker-online' })).toEqual({
      id: '2',
      type: 'worker-online',
      task: null,
      task_id: null,
      state: null,
      worker: null,
      timestamp: null,
      detail: null,
    });
  });

  it('is none without id or type', () => {
    expect(serializer.event({ type: 'x' } as TaskEvent)).toBeNull();
    expect(serializer.event({ id: 'x' } as TaskEvent)).toBeNull();
  });
});

describe('a component', () => {
  const broker: Component = { key: 'broker', name: 'broker', enabled: true, status: 'up' };

  it('has every field', () => {
    expect(serializer.component(broker)).toEqual({
      name: 'broker',
      enabled: true,
      status: 'up',
      pid: null,
      url: null,
      config: null,
    });
    expect(serializer.component({ ...broker, pid: 3 })).toMatchObject({ pid: 3 });
  });

  it.each([
    ['redis://user:pass@host:6379/0?x=1', 'redis://host:6379/0'],
    ['redis://:p@ss/w?r#d@host/0', 'redis://host/0'],
    ['sentinel://a:b@h1:1;sentinel://c:d@h2:2', 'sentinel://h1:1;sentinel://h2:2'],
    ['amqp://guest:guest@localhost:5672//', 'amqp://localhost:5672//'],
    ['mongodb://u:p@h1,h2/db?authSource=a', 'mongodb://h1,h2/db'],
    ['https://example.com/path?token=abc#part', 'https://example.com/path'],
    ['redis+socket:///run/redis.sock?virtual_host=1', 'redis+socket:///run/redis.sock'],
    ['/run/redis.sock', '/run/redis.sock'],
    ['user:secret@host', 'host'],
    ['host:6379', 'host:6379'],
  ])('shows %s without user, password and query', (url, shown) => {
    expect(serializer.component({ ...broker, url })?.url).toBe(shown);
  });

  it('shows its settings without secrets, as plain JSON of bounded size', () => {
    const config = {
      hints: ['Set worker_send_task_events = True'],
      password: 'abc',
      nested: {
        broker_url: 'redis://u:abc@h',
        at: new Date(0),
        big: 5n,
        list: new Set([1]),
        same: Number.NaN,
      },
      many: Array.from({ length: 100_000 }, (_, i) => i),
    };
    const shown = serializer.component({ ...broker, config })?.config;
    expect(shown).toMatchObject({
      hints: ['Set worker_send_task_events = True'],
      password: '***',
      nested: {
        broker_url: 'redis://***@h',
        at: '1970-01-01T00:00:00.000Z',
        big: '5',
        list: [1],
        same: null,
      },
    });
    expect(JSON.stringify(shown).length).toBeLessThan(70_000);
  });

  it.each<[string, unknown]>([
    ['a text', 'x'],
    ['an array', [1]],
    ['a map', new Map([['a', 1]])],
    ['a date', new Date(0)],
    ['null', null],
  ])('has no settings when they are %s', (_what, config) => {
    expect(serializer.component({ ...broker, config } as Component)?.config).toBeNull();
  });

  it.each(['key', 'name', 'status'] as const)('is none without %s', (field) => {
    expect(serializer.component({ ...broker, [field]: undefined } as unknown as Component)).toBeNull();
  });
});

it('shows a sentence without secrets, and no longer than anybody reads', () => {
  expect(serializer.sentence('Cannot reach redis://u:abc@host/0.')).toBe('Cannot reach redis://***@host/0.');
  expect(serializer.sentence('x'.repeat(5_000))).toHaveLength(1_024);
});
