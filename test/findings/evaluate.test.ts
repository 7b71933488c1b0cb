import { describe, expect, it } from 'vitest';
import { type Evaluation, evaluate, MOST_FINDINGS } from '../../src/findings/evaluate.ts';
import type { SourceSituation } from '../../src/findings/finding.ts';
import { storeBehind } from '../../src/findings/rules/store-behind.ts';
import { judgeServers } from '../../src/findings/source-down.ts';
import type { StoreStatus } from '../../src/history/stored-history.ts';
import type { ComponentBody } from '../../src/wire.ts';
import { ago, component, judge, NOW, queue, schedule, source, worker } from './situations.ts';

function evaluated(
  sources: readonly SourceSituation[],
  { now = NOW, own = {}, firstFound = new Map<string, number>() } = {} as {
    now?: number;
    own?: Readonly<Record<string, ComponentBody>>;
    firstFound?: Map<string, number>;
  },
): Evaluation & { readonly errors: readonly unknown[] } {
  const errors: unknown[] = [];
  const steps = evaluate({ now, sources, own, onError: (error) => errors.push(error) }, firstFound);
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return { ...step.value, errors };
}

describe('source_down', () => {
  const down = (url: string | null, name = 'Broker') =>
    component({ name, url, config: { error: 'Redis refuses.' } });

  it('finds one dead Redis once, whatever stands on it, in all sources', () => {
    const celery = source({
      name: 'celery',
      error: 'source_unavailable',
      asOf: ago(5),
      workers: [worker('w1', { status: 'offline' })],
      components: {
        broker: down('redis://redis.local:6379/0'),
        backend: down('redis://redis.local:6379/1'),
        collector: down(null, 'Event collector'),
        control: down(null, 'Remote control'),
      },
      checks: {
        broker: { ok: false, error: 'Redis refuses.' },
        backend: { ok: false, error: 'Redis refuses.' },
        workers: { ok: false, error: 'No worker responds.' },
      },
    });
    const bullmq = source({
      name: 'bullmq',
      error: 'source_unavailable',
      components: { redis: down('redis://redis.local:6379/2', 'Redis') },
    });
    const { findings, rules } = evaluated([celery, bullmq]);
    expect(findings).toMatchObject([
      {
        code: 'source_down',
        source: null,
        severity: 'critical',
        since: ago(5),
        subject: 'redis.local:6379',
        evidence: {
          parts: ['celery.broker', 'celery.backend', 'celery.collector', 'celery.control', 'bullmq.redis'],
          error: 'Redis refuses.',
        },
        look: '/api/components/',
      },
    ]);
    const others = rules.filter(({ code }) => code !== 'source_down');
    expect(new Set(others.map(({ status, reason }) => `${status} ${reason}`))).toEqual(
      new Set(['unknown The source is down.']),
    );
  });

  it('finds two servers twice, a check that fails, a source without an address, and the exporter', () => {
    const celery = source({
      name: 'celery',
      components: {
        broker: down('redis://a:6379'),
        backend: component({ status: 'up', url: 'redis://b:6379' }),
      },
      checks: { ...source().checks, backend: { ok: false, error: 'It is read-only.' } },
    });
    const own = { metrics: down('http://exporter:9808/metrics', 'metrics') };
    const { findings } = evaluated([celery, source({ name: 'mine', error: 'source_timeout' })], { own });
    expect(findings.map(({ subject }) => subject)).toEqual(['a:6379', 'b:6379', 'mine', 'exporter:9808']);
  });

  it('has the cause as its headline, and names a server only where that is known', () => {
    const error = 'The package amqplib is not installed: run npm install amqplib.';
    const amqp = component({ status: 'down', name: 'Broker', url: 'amqp://a:5672//', config: { error } });
    const refuses = { status: 'down', config: { error: 'PostgreSQL refuses connections.' } } as const;
    const away = { error: 'source_unavailable' } as const;
    const { findings } = evaluated(
      [
        source({ ...away, name: 'one', components: { broker: amqp } }),
        source({ ...away, name: 'two', components: { 'history.store': component(refuses) } }),
        source({ ...away, name: 'three' }),
        source({ ...away, name: 'four', components: { redis: component({ url: 'redis://r:1' }) } }),
      ],
      { own: { metrics: component(), other: component() } },
    );
    const down = findings.filter(({ code }) => code === 'source_down');
    expect(down.map(({ subject, summary }) => [subject, summary])).toEqual([
      ['a:5672', 'The package amqplib is not installed: run npm install amqplib (a:5672; one.broker)'],
      ['two', 'PostgreSQL refuses connections (two.history.store)'],
      ['three', 'three is down'],
      ['r:1', 'r:1 is down (four.redis)'],
      ['metrics', 'metrics is down'],
      ['other', 'other is down'],
    ]);
  });

  it('finds nothing while all is up, unknown or disabled', () => {
    const components = {
      a: component({ status: 'up' }),
      b: component({ status: 'unknown' }),
      c: component({ status: 'down', enabled: false }),
    };
    expect(evaluated([source({ components })]).findings).toEqual([]);
  });
});

describe('an evaluation', () => {
  it('lists the worst first, and at most 20 findings of a rule', () => {
    const schedules = Array.from({ length: 30 }, (_, index) => schedule(`s${index}`, 10));
    const { findings, rules } = evaluated([source({ schedules, queues: [queue('q', 1, 45)] })]);
    expect(findings).toHaveLength(MOST_FINDINGS + 1);
    expect(findings[0]).toMatchObject({ code: 'queue_waiting', severity: 'critical' });
    expect(rules.find(({ code }) => code === 'schedule_missed')).toMatchObject({
      status: 'found',
      found: 30,
    });
  });

  it('remembers when a finding without a time was first found, until it is gone', () => {
    const firstFound = new Map<string, number>();
    const none = [source({ workers: [worker('w1', { status: 'offline' })] })];
    const since = (now: number, sources = none) =>
      evaluated(sources, { now, firstFound }).findings.find(({ code }) => code === 'workers_silent')?.since;
    expect(since(NOW)).toBe(NOW);
    expect(since(NOW + 9_000)).toBe(NOW);
    expect(since(NOW + 10_000, [source({ workers: [worker('w1')] })])).toBeUndefined();
    expect(since(NOW + 20_000)).toBe(NOW + 20_000);
  });

  it('says unknown where data cannot be read, and goes on', () => {
    const broken = source({
      activity: { blind: null, counts: {}, open: {} } as never,
      schedules: [schedule('s', 10)],
    });
    const { rules, findings, errors } = evaluated([broken]);
    expect(rules.find(({ code }) => code === 'failure_rate')).toMatchObject({ status: 'unknown' });
    expect(findings).toMatchObject([{ code: 'schedule_missed' }]);
    expect(errors.length).toBeGreaterThan(0);
  });

  it('says unknown without a source', () => {
    expect(evaluated([])).toMatchObject({
      findings: [],
      rules: [{ code: 'source_down', status: 'unknown' }],
    });
  });
});

const FINE: StoreStatus = {
  ...{ engine: 'postgres', phase: 'ready', isHolder: true, waiting: 12, waitingSince: NOW - 700 },
  ...{ lastWrite: NOW - 700, error: null, code: null, remedy: null, lost: 0, lostAt: null, bytes: 1_000 },
  ...{ areClocksApart: false, unreadable: 0 },
};

const timeOf = (time: number | null): string | null => (time === null ? null : new Date(time).toISOString());

/** A source whose component of the store tells this status. */
function stored(given: Partial<StoreStatus> = {}): SourceSituation {
  const { waitingSince, lastWrite, lostAt, remedy, ...status } = { ...FINE, ...given };
  const config = {
    ...status,
    delay_seconds: waitingSince === null ? 0 : Math.floor((NOW - waitingSince) / 1_000),
    last_write: timeOf(lastWrite),
    lost_at: timeOf(lostAt),
    hints: remedy === null ? [] : [remedy],
  };
  const state = status.error !== null ? 'down' : status.phase === 'opening' ? 'unknown' : 'up';
  return source({
    components: { 'history.store': component({ name: 'History store', status: state, config }) },
  });
}

const AWAY = { error: 'connect ECONNREFUSED', code: 'unreachable', remedy: 'Start it.' } as const;

describe('store_behind', () => {
  it('finds a store that has not been written for more than a minute, critical after ten', () => {
    const judgement = judge(storeBehind, stored({ ...AWAY, waiting: 40, waitingSince: ago(3) }));
    expect(judgement).toMatchObject({
      unknown: null,
      findings: [
        {
          ...{ severity: 'warning', subject: 'delay', since: ago(3) },
          summary: 'The history store is 3 min behind: connect ECONNREFUSED',
          evidence: { waiting: 40, delay_seconds: 180, code: 'unreachable', hints: ['Start it.'] },
        },
      ],
    });
    const later = judge(storeBehind, stored({ ...AWAY, waitingSince: ago(11) }));
    expect(later?.findings).toMatchObject([{ severity: 'critical' }]);
  });

  it('finds a store that cannot be opened, although nothing waits', () => {
    const opening = { phase: 'opening', waiting: 0, waitingSince: null, isHolder: null } as const;
    const refused = { error: 'The history has schema 9.', code: 'schema_newer', remedy: 'Upgrade.' };
    expect(judge(storeBehind, stored({ ...opening, ...refused }))?.findings).toMatchObject([
      { severity: 'warning', subject: 'delay', evidence: { code: 'schema_newer', hints: ['Upgrade.'] } },
    ]);
  });

  it('finds what was lost, for an hour', () => {
    const lost = (minutes: number, count = 7) =>
      judge(storeBehind, stored({ lost: count, lostAt: ago(minutes) }));
    expect(lost(5)?.findings).toMatchObject([
      {
        ...{ severity: 'critical', subject: 'lost', since: ago(5), evidence: { lost: 7 } },
        summary: '7 changes were lost before they were written to the store',
        look: '/api/components/',
      },
    ]);
    expect(lost(59, 1)?.findings[0]?.summary).toBe('1 change was lost before they were written to the store');
    expect(lost(60)).toEqual({ findings: [], unknown: null });
  });

  it('finds nothing in a store that is written in time, or was away for a moment', () => {
    expect(judge(storeBehind, stored())).toEqual({ findings: [], unknown: null });
    const moment = judge(storeBehind, stored({ ...AWAY, waitingSince: NOW - 30_000 }));
    expect(moment).toEqual({ findings: [], unknown: null });
  });

  it('says unknown before the store was opened, and nothing without a store', () => {
    const opening = { phase: 'opening', waitingSince: null } as const;
    expect(judge(storeBehind, stored(opening))).toEqual({
      findings: [],
      unknown: 'The store has not been opened yet.',
    });
    expect(judge(storeBehind, source())).toBeNull();
  });

  it('is no source that is down: what memory knows is shown', () => {
    expect(judgeServers([stored(AWAY)], {})).toEqual({ findings: [], unknown: null });
  });
});
