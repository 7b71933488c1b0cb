import { describe, expect, it } from 'vitest';
import { RULES } from '../../src/findings/evaluate.ts';
import type { SourceSituation } from '../../src/findings/finding.ts';
import { failureRate } from '../../src/findings/rules/failure-rate.ts';
import { tasksLost, tasksMissing, tasksOverdue } from '../../src/findings/rules/open-tasks.ts';
import { queueGrowing, queueWaiting } from '../../src/findings/rules/queues.ts';
import { scheduleMissed } from '../../src/findings/rules/schedule-missed.ts';
import { storeBehind } from '../../src/findings/rules/store-behind.ts';
import { taskOverrun } from '../../src/findings/rules/task-overrun.ts';
import { workerStuck, workersSilent } from '../../src/findings/rules/workers.ts';
import { activity, ago, component, judge, NOW, queue, runs, schedule, source, worker } from './situations.ts';

const CLEAR = { findings: [], unknown: null };
const timeOf = (minutes: number): string => new Date(ago(minutes)).toISOString();

describe('queue_waiting', () => {
  const sent = (id: string, minutes: number, fields = {}) =>
    ({ id, type: 'sent', queue: 'mail', time: ago(minutes), ...fields }) as const;

  it('finds the oldest task that is due, from the tasks themselves', async () => {
    const tasks = [sent('1', 25), sent('2', 5), sent('3', 50, { eta: NOW + 1 })];
    expect(judge(queueWaiting, source({ activity: await activity({ tasks }) }))).toMatchObject({
      unknown: null,
      findings: [
        {
          ...{ severity: 'warning', subject: 'mail', since: ago(25) },
          evidence: { waiting: 2, oldest_due_at: timeOf(25), is_lower_bound: false },
          look: '/api/tasks/?queue=mail&state=PENDING',
        },
      ],
    });
  });

  it('finds it from what the queue says, critical after half an hour', () => {
    const queues = [queue('late', 1, 20), queue('mail', 7, 31), queue('other', 2, 9), queue('x', null, 125)];
    const judgement = judge(queueWaiting, source({ queues }));
    expect(judgement).toMatchObject({ unknown: expect.stringMatching(/ in x\.$/), unjudged: ['x'] });
    expect(judgement?.findings.map(({ severity, summary }) => [severity, summary])).toEqual([
      ['critical', 'Queue x: oldest due 2 h 5 min ago'],
      ['critical', 'Queue mail: oldest due 31 min ago, 7 tasks waiting'],
      ['warning', 'Queue late: oldest due 20 min ago, 1 task waiting'],
    ]);
  });

  it('finds at least what was seen of a queue that does not say', async () => {
    const judgement = judge(
      queueWaiting,
      source({ activity: await activity({ tasks: [sent('1', 12)] }), queues: [queue('mail', 3_000, null)] }),
    );
    expect(judgement?.findings).toMatchObject([{ evidence: { waiting: 3_000, is_lower_bound: true } }]);
    expect(judgement?.findings[0]?.summary).toBe(
      'Queue mail: oldest due at least 12 min ago, 3,000 tasks waiting',
    );
  });

  it('finds it where workers report nothing, as long as the queues can be read', async () => {
    const blind = { ...(await activity({ tasks: [sent('1', 12)] })), blind: 'Workers send no events.' };
    expect(
      judge(queueWaiting, source({ activity: blind, queues: [queue('mail', 1, null)] }))?.findings,
    ).toHaveLength(1);
    expect(judge(queueWaiting, source({ activity: blind }))).toEqual({ findings: [], unknown: blind.blind });
  });

  it('finds nothing in what waits for its eta, for a short time, or not in the queue any more', async () => {
    const tasks = [sent('1', 9), sent('2', 60, { eta: NOW + 60_000 })];
    expect(judge(queueWaiting, source({ activity: await activity({ tasks }) }))).toEqual(CLEAR);
    const old = await activity({ tasks: [sent('1', 60)] });
    expect(judge(queueWaiting, source({ activity: old, queues: [queue('mail', 0, null)] }))).toEqual(CLEAR);
  });

  it('is unknown where nothing tells whether tasks wait, or since when', async () => {
    const quiet = await activity({ tasks: runs('pay', 10, 0, { perMinute: 1 }) });
    expect(judge(queueWaiting, source({ activity: quiet }))?.unknown).toMatch(/No queue is listed/);
    expect(
      judge(queueWaiting, source({ activity: quiet, queues: [queue('mail', 5, null)] }))?.unknown,
    ).toMatch(/mail/);
    expect(judge(queueWaiting, source({ queues: null }))?.unknown).toMatch(/could not be read/);
  });
});

describe('worker_stuck', () => {
  const held = (minutes: number, slots = 4) =>
    Array.from({ length: slots }, (_, slot) => ({
      ...({
        id: `t${slot}`,
        type: 'started',
        name: 'encode',
        worker: 'w2',
        time: ago(minutes) + slot,
      } as const),
    }));
  const usual = runs('encode', 170, 60, { perMinute: 1, seconds: 30 });
  const full = worker('w2', { concurrency: 4, active: 4 });

  it('finds a worker whose slots all hold the same tasks', async () => {
    const situation = source({
      activity: await activity({ tasks: [...usual, ...held(49)] }),
      workers: [full],
    });
    expect(judge(workerStuck, situation)).toMatchObject({
      unknown: null,
      findings: [
        {
          severity: 'critical',
          subject: 'w2',
          summary: 'w2: 4 of 4 slots hold the same tasks, 49 min',
          since: ago(49) + 3,
          evidence: { slots: 4, names: ['encode'], task_ids: ['t0', 't1', 't2', 't3'] },
          look: '/api/tasks/?worker=w2&state=STARTED&sort=started&order=asc',
        },
      ],
    });
  });

  it('is a warning after 15 minutes where the usual run times are not known', async () => {
    const of = async (minutes: number) =>
      judge(workerStuck, source({ activity: await activity({ tasks: held(minutes) }), workers: [full] }));
    expect((await of(16))?.findings).toMatchObject([{ severity: 'warning' }]);
    expect(await of(14)).toEqual(CLEAR);
  });

  it('finds nothing in a busy worker, one with a free slot, and one that says that it runs less', async () => {
    const situation = async (minutes: number, slots: number, fields = {}) =>
      source({
        activity: await activity({ tasks: [...usual, ...held(minutes, slots)] }),
        workers: [{ ...full, ...fields }],
      });
    expect(judge(workerStuck, await situation(4, 4))).toEqual(CLEAR);
    expect(judge(workerStuck, await situation(49, 3))).toEqual(CLEAR);
    expect(judge(workerStuck, await situation(49, 4, { active: 0 }))).toEqual(CLEAR);
    expect(judge(workerStuck, await situation(49, 4, { status: 'offline' }))).toEqual(CLEAR);
  });

  it('is unknown where slots are not known, or nobody lists workers', async () => {
    const quiet = await activity({});
    expect(judge(workerStuck, source({ activity: quiet, workers: [worker('w1')] }))?.unknown).toMatch(/w1/);
    expect(judge(workerStuck, source({ activity: quiet }))?.unknown).toMatch(/lists no workers/);
  });
});

describe('worker_stuck where workers take a task only as they can run it', () => {
  const situation = async (minutes: number, waiting: number, isWhole = true) => {
    const quiet = await activity({ tasks: runs('sync', 170, 70, { perMinute: 1, seconds: 2 }) });
    const running = [minutes + 30, minutes].map((age) => ({
      ...{ id: `${age}`, name: 'sync', worker: null, startedAt: ago(age), queue: 'mail' },
    }));
    const other = { id: 'other', name: 'sync', worker: null, startedAt: ago(1), queue: 'other' };
    const open = { ...quiet.open, running: [...running, other], isWhole };
    return source({ activity: { ...quiet, workersPull: true, open }, queues: [queue('mail', waiting, 7)] });
  };

  it('finds a queue whose workers all hold what they have held for long, while tasks wait', async () => {
    expect(judge(workerStuck, await situation(8, 3))).toEqual({
      unknown: null,
      findings: [
        {
          ...{ severity: 'critical', subject: 'mail', since: ago(8) },
          summary: 'Queue mail: all workers hold the same tasks, 8 min, and 3 tasks wait',
          evidence: { slots: 2, names: ['sync'], task_ids: ['38', '8'], waiting: 3 },
          look: '/api/tasks/?queue=mail&state=STARTED&sort=started&order=asc',
        },
      ],
    });
    expect(judge(workerStuck, await situation(8, 1))?.findings[0]?.summary).toMatch(/, and 1 task waits$/);
  });

  it('finds nothing while a worker is free or has just taken a task', async () => {
    expect(judge(workerStuck, await situation(8, 0))).toEqual(CLEAR);
    expect(judge(workerStuck, await situation(4, 3))).toEqual(CLEAR);
  });

  it('does not know where more tasks run than are listed, or no queue can be read', async () => {
    expect(judge(workerStuck, await situation(4, 3, false))?.unknown).toMatch(/Too many tasks are running/);
    const unread = { ...(await situation(8, 3)), queues: null };
    expect(judge(workerStuck, unread)?.unknown).toMatch(/queues could not be read/);
  });
});

describe('workers_silent', () => {
  it('finds that no worker is online', () => {
    const offline = (index: number) =>
      worker(`w${index}`, { status: 'offline', last_heartbeat: index === 0 ? null : timeOf(index) });
    const workers = Array.from({ length: 21 }, (_, index) => offline(index));
    const found = { severity: 'critical', subject: null, look: '/api/workers/' };
    expect(judge(workersSilent, source({ workers }))?.findings).toEqual([
      {
        ...{ ...found, since: ago(1), summary: 'No worker is online: w0, w1, w2 and 18 more' },
        evidence: { workers: workers.slice(0, 20).map(({ hostname }) => hostname), known: 21 },
      },
    ]);
    expect(judge(workersSilent, source({ workers: [offline(0)] }))?.findings).toMatchObject([
      { since: null, summary: 'No worker is online: w0' },
    ]);
    const checks = { ...source().checks, workers: { ok: false, error: 'No worker responds.' } };
    expect(judge(workersSilent, source({ workers: [], checks }))?.findings).toEqual([
      { ...found, since: null, summary: 'No worker responds', evidence: { workers: [], known: 0 } },
    ]);
  });

  it('says why, if the broker does not let workers in', () => {
    const refusing = component({ config: { refuses_workers: 'RabbitMQ refuses their queues.' } });
    const checks = { ...source().checks, workers: { ok: false, error: 'No worker responds.' } };
    const summaryOf = (components: SourceSituation['components']) =>
      judge(workersSilent, source({ workers: [], checks, components }))?.findings[0]?.summary;
    expect(summaryOf({ backend: component(), broker: refusing })).toBe(
      'No worker responds. RabbitMQ refuses their queues.',
    );
    expect(summaryOf({ backend: component() })).toBe('No worker responds');
  });

  it('finds workers that fell silent within an hour, and none that said goodbye', async () => {
    const beat = (hostname: string, minutes: number, type: 'heartbeat' | 'offline' = 'heartbeat') => ({
      ...{ hostname, type, time: ago(minutes) },
    });
    const beats = [beat('crashed', 20), beat('closed', 30), beat('closed', 29, 'offline'), beat('old', 90)];
    const workers = [...beats, beat('also', 30)];
    const situation = source({ activity: await activity({ workers }), workers: [worker('there')] });
    expect(judge(workersSilent, situation)?.findings).toMatchObject([
      {
        ...{ severity: 'warning', since: ago(30), subject: null, look: '/api/workers/' },
        summary: '2 workers stopped sending heartbeats without shutting down: also, crashed',
        evidence: { workers: ['also', 'crashed'], silent: 2 },
      },
    ]);
  });

  it('finds nothing while all are heard, and judges no queue without workers of its own', async () => {
    expect(judge(workersSilent, source({ workers: [worker('w1')] }))).toEqual(CLEAR);
    expect(judge(workersSilent, source({ workers: [] }))).toBeNull();
  });

  it('is unknown where nobody lists workers', () => {
    expect(judge(workersSilent, source())?.unknown).toMatch(/lists no workers/);
    expect(judge(workersSilent, source({ workers: null }))?.unknown).toMatch(/could not be read/);
    expect(judge(workersSilent, source({ hasTasks: false }))).toBeNull();
  });
});

describe('schedule_missed', () => {
  it('finds entries that should have run', () => {
    const schedules = [schedule('nightly', 12), schedule('off', 12, false), schedule('hourly', -30)];
    const found = { severity: 'warning', look: '/api/beat/schedules/' };
    const evidence = { schedule_id: 'nightly', task: 'report', due_at: timeOf(12), last_run_at: null };
    const summary = 'Schedule nightly was missed: it was due 12 min ago';
    const judgement = judge(scheduleMissed, source({ schedules: [...schedules, schedule('first', 15)] }));
    expect(judgement).toMatchObject({
      unknown: null,
      findings: [
        { ...found, subject: 'first', since: ago(15) },
        { ...found, subject: 'nightly', since: ago(12), summary, evidence },
      ],
    });
  });

  it('finds nothing in what is a little late', () => {
    expect(judge(scheduleMissed, source({ schedules: [schedule('now', 0.9)] }))).toEqual(CLEAR);
  });

  it('is unknown where the next run is, and judges nothing without schedules', () => {
    const undated = [schedule('x', null), schedule('off', null, false)];
    expect(judge(scheduleMissed, source({ schedules: undated }))).toEqual({
      ...{ findings: [], unknown: 'The next run of x is unknown.', unjudged: ['x'] },
    });
    expect(judge(scheduleMissed, source({ schedules: null }))?.unknown).toMatch(/could not be read/);
    expect(judge(scheduleMissed, source())).toBeNull();
  });
});

describe('every rule', () => {
  it('has a code of its own, and says unknown of a source that supplies tasks alone', () => {
    expect(new Set(RULES.map(({ code }) => code)).size).toBe(RULES.length);
    for (const rule of RULES) {
      const judgement = judge(rule, source());
      // Nothing to judge without schedules, and without a store.
      if (rule !== scheduleMissed && rule !== storeBehind)
        expect([rule.code, judgement?.unknown]).toEqual([rule.code, expect.any(String)]);
    }
  });

  it('says unknown where tasks may happen unseen', async () => {
    const blind = { ...(await activity({})), blind: 'Workers send no events.' };
    for (const rule of [failureRate, taskOverrun, tasksLost, tasksMissing, tasksOverdue]) {
      expect(judge(rule, source({ activity: blind }))).toEqual({
        findings: [],
        unknown: 'Workers send no events.',
      });
    }
  });
});

describe('queue_growing', () => {
  const growing = async (minutes: number) => ({
    ...(await activity({})),
    growing: [{ queue: 'mail', since: ago(minutes), from: 4, waiting: 3_000 }],
  });

  it('finds a queue that grows for a quarter of an hour, critical after an hour', async () => {
    const found = judge(queueGrowing, source({ activity: await growing(25) }));
    expect(found).toMatchObject({
      unknown: null,
      findings: [
        {
          ...{ severity: 'warning', since: ago(25), subject: 'mail' },
          summary: 'Queue mail: growing for 25 min, from 4 to 3,000 tasks',
          evidence: { waiting: 3_000, waiting_before: 4, growing_since: timeOf(25) },
          look: '/api/tasks/?queue=mail&state=PENDING',
        },
      ],
    });
    expect(judge(queueGrowing, source({ activity: await growing(60) }))?.findings).toMatchObject([
      { severity: 'critical' },
    ]);
  });

  it('finds nothing in a queue that grows for a short time, and does not know what nobody records', async () => {
    expect(judge(queueGrowing, source({ activity: await growing(14) }))).toEqual(CLEAR);
    const { growing: _none, ...without } = await growing(25);
    expect(judge(queueGrowing, source({ activity: without }))?.unknown).toMatch(
      /does not record queue depths/,
    );
  });
});
