import { describe, expect, it } from 'vitest';
import { failureRate } from '../../src/findings/rules/failure-rate.ts';
import { type Suspect, tasksLost, tasksMissing, tasksOverdue } from '../../src/findings/rules/open-tasks.ts';
import { taskRanTwice } from '../../src/findings/rules/ran-twice.ts';
import { taskOverrun } from '../../src/findings/rules/task-overrun.ts';
import { activity, ago, judge, NOW, runs, source } from './situations.ts';

const CLEAR = { findings: [], unknown: null };

describe('failure_rate', () => {
  const usual = runs('pay', 120, 20, { perMinute: 50 });

  it('finds a share that has risen, since when, and by how much', async () => {
    const tasks = [
      ...usual,
      ...runs('pay', 20, -1, { perMinute: 50, failed: 3 }),
      ...runs('mail', 120, -1, { perMinute: 9 }),
    ];
    const judgement = judge(failureRate, source({ activity: await activity({ tasks }) }));
    expect(judgement).toMatchObject({
      unknown: null,
      findings: [
        {
          severity: 'critical',
          subject: 'pay',
          since: Math.floor(ago(20) / 60_000) * 60_000,
          summary: 'pay fails 6 % (before 0 %)',
          evidence: {
            ...{ failed: 45, ended: 750, share: 0.06, minutes: 15, before_share: 0, before_ended: 3_000 },
          },
          look: '/api/tasks/?name=pay&state=FAILURE&since=2026-11-21T11%3A40%3A00.000Z',
        },
      ],
    });
  });

  it('finds 2 % of what did not fail before, as a warning', async () => {
    const tasks = [...usual, ...runs('pay', 20, -1, { perMinute: 50, failed: 1 })];
    expect(judge(failureRate, source({ activity: await activity({ tasks }) }))?.findings).toMatchObject([
      { severity: 'warning', evidence: { share: 0.02, before_share: 0 } },
    ]);
  });

  it.each([
    [40, '2.5 %'],
    [8, '13 %'],
  ])('says the share of 1 in %i as %s', async (perMinute, share) => {
    const tasks = runs('pay', 20, -1, { perMinute, failed: 1 });
    const found = judge(failureRate, source({ activity: await activity({ tasks: [...usual, ...tasks] }) }));
    expect(found?.findings[0]?.summary).toBe(`pay fails ${share} (before 0 %)`);
  });

  it('still compares with the time before it began two hours later', async () => {
    const tasks = [
      ...runs('pay', 300, 120, { perMinute: 50 }),
      ...runs('pay', 120, -1, { perMinute: 50, failed: 2 }),
    ];
    expect(
      judge(failureRate, source({ activity: await activity({ begun: 400, tasks }) }))?.findings,
    ).toMatchObject([
      { since: Math.floor(ago(120) / 60_000) * 60_000, evidence: { share: 0.04, before_share: 0 } },
    ]);
  });

  it('finds 5 % even where that is usual, as a warning', async () => {
    const tasks = runs('pay', 170, -1, { perMinute: 20, failed: 1 });
    expect(judge(failureRate, source({ activity: await activity({ tasks }) }))?.findings).toMatchObject([
      { severity: 'warning', summary: 'pay fails 5 %' },
    ]);
  });

  it('finds nothing where 2 % are usual, nor in two failures', async () => {
    const tasks = [
      ...runs('pay', 170, -1, { perMinute: 50, failed: 1 }),
      ...runs('rare', 2, 0, { perMinute: 1, failed: 1 }),
    ];
    expect(judge(failureRate, source({ activity: await activity({ tasks }) }))).toEqual(CLEAR);
  });

  it('finds no rise that chance explains', async () => {
    const tasks = (failures: number) => [
      ...runs('pay', 80, 60, { perMinute: 10 }),
      ...runs('pay', 60, 53, { perMinute: 10, failed: 1 }),
      ...runs('pay', 53, 12, { perMinute: 10 }),
      ...runs('pay', 12, 12 - failures, { perMinute: 10, failed: 1 }),
      ...runs('pay', 12 - failures, -1, { perMinute: 10 }),
    ];
    const found = async (failures: number) =>
      judge(failureRate, source({ activity: await activity({ tasks: tasks(failures) }) }))?.findings;
    // Of 150 tasks, after 7 failures of 600: four times as many.
    expect(await found(7)).toEqual([]);
    expect(await found(12)).toHaveLength(1);
  });

  it('compares only with an hour of which at least half was observed', async () => {
    const tasks = (from: number) => [
      ...runs('pay', from, 20, { perMinute: 50 }),
      ...runs('pay', 20, -1, { perMinute: 50, failed: 2 }),
    ];
    const found = async (begun: number) =>
      judge(failureRate, source({ activity: await activity({ begun, tasks: tasks(begun) }) }))?.findings;
    expect(await found(49)).toEqual([]);
    expect(await found(51)).toMatchObject([{ severity: 'warning', evidence: { before_share: 0 } }]);
  });

  it('counts a task once that its worker and its backend report as failed again', async () => {
    const failed = (id: string, time: number) => {
      const task = { id, name: 'slow', worker: 'w' };
      return [
        { ...task, type: 'received', time },
        { ...task, type: 'started', time: time + 1 },
        { ...task, type: 'failed', time: time + 2, origin: 'result' },
        { ...task, type: 'failed', time: time + 3 },
        { ...task, type: 'failed', time: time + 4, origin: 'result' },
        { ...task, type: 'failed', time: time + 5 },
      ] as const;
    };
    const tasks = ['1', '2', '3'].flatMap((id, at) => failed(id, ago(5 - at)));
    expect(judge(failureRate, source({ activity: await activity({ tasks }) }))?.findings).toMatchObject([
      { evidence: { failed: 3, ended: 3 } },
    ]);
  });

  it('is unknown in the first hour and a quarter, and still finds what is certain', async () => {
    const young = await activity({ begun: 60, tasks: runs('pay', 30, -1, { perMinute: 5 }) });
    expect(judge(failureRate, source({ activity: young }))).toEqual({
      findings: [],
      unknown: 'It needs data from the previous hour.',
      unjudged: [],
    });
    const failing = await activity({ begun: 60, tasks: runs('pay', 30, -1, { perMinute: 5, failed: 1 }) });
    expect(judge(failureRate, source({ activity: failing }))?.findings).toHaveLength(1);
  });
});

describe('task_overrun', () => {
  const started = (id: string, name: string, minutes: number) =>
    ({ id, type: 'started', name, worker: 'w', time: ago(minutes) }) as const;
  const usual = runs('encode', 120, 60, { perMinute: 2, seconds: 60 });
  const workers = [{ hostname: 'w', type: 'heartbeat', time: NOW } as const];

  it('finds tasks that run for more than three times the p99 of their name', async () => {
    const tasks = [
      ...usual,
      started('1', 'encode', 49),
      started('2', 'encode', 20),
      started('3', 'encode', 2),
    ];
    expect(judge(taskOverrun, source({ activity: await activity({ tasks, workers }) }))).toMatchObject({
      unknown: null,
      findings: [
        {
          ...{ severity: 'warning', subject: 'encode', since: expect.closeTo(ago(49 - 3 * 1.09), -3) },
          summary: '2 encode tasks run for up to 49 min, p99 1 min',
          evidence: {
            tasks: 2,
            started_at: '2026-11-21T11:11:30.000Z',
            p99_seconds: 65.4,
            workers: ['w'],
            task_ids: ['1', '2'],
          },
          look: '/api/tasks/?name=encode&state=STARTED&sort=started&order=asc',
        },
      ],
    });
  });

  it('names at most three tasks and workers', async () => {
    const more = ['1', '2', '3', '4'].map((id) => ({
      ...started(id, 'encode', 50 - Number(id)),
      worker: `w${id}`,
    }));
    const beats = more.map(({ worker }) => ({ hostname: worker, type: 'heartbeat', time: NOW }) as const);
    const known = await activity({ tasks: [...usual, ...more], workers: beats });
    expect(judge(taskOverrun, source({ activity: known }))?.findings).toMatchObject([
      { evidence: { tasks: 4, workers: ['w1', 'w2', 'w3'], task_ids: ['1', '2', '3'] } },
    ]);
  });

  it('says in milliseconds how long short tasks take', async () => {
    const tasks = [...runs('quick', 120, 60, { perMinute: 2, seconds: 0.1 }), started('1', 'quick', 5)];
    expect(judge(taskOverrun, source({ activity: await activity({ tasks, workers }) }))).toMatchObject({
      findings: [{ summary: expect.stringMatching(/^1 quick task runs for up to 5 min, p99 \d+ ms$/) }],
    });
  });

  it('finds nothing in what runs as long as usual, or for less than a minute', async () => {
    const quick = runs('quick', 120, 60, { perMinute: 2, seconds: 0.1 });
    const tasks = [...usual, ...quick, started('1', 'encode', 2), started('2', 'quick', 0.9)];
    expect(judge(taskOverrun, source({ activity: await activity({ tasks, workers }) }))).toEqual(CLEAR);
  });

  it('is unknown while a task of an unknown name, or of one with few runs, runs', async () => {
    const tasks = [started('1', 'new', 5)];
    expect(judge(taskOverrun, source({ activity: await activity({ tasks, workers }) }))).toEqual({
      findings: [],
      unknown: 'It needs 20 runs of new within a day.',
      unjudged: ['new'],
    });
    const many = await activity({ tasks, workers });
    const open = { ...many.open, isWhole: false };
    // Any other task may run for too long as well.
    expect(judge(taskOverrun, source({ activity: { ...many, open } }))).toEqual({
      findings: [],
      unknown: 'Too many tasks are running to examine all of them: 1.',
    });
  });
});

describe('tasks_lost', () => {
  const had = (count: number, hostname: string, minutes: number) =>
    Array.from({ length: count }, (_, index) => ({
      ...({ id: `${hostname} ${index}`, type: 'received', worker: hostname, time: ago(minutes) } as const),
    }));

  it('finds every task of a worker that is gone', async () => {
    const tasks = had(1_200, 'gone', 10);
    expect(judge(tasksLost, source({ activity: await activity({ tasks }) }))?.findings).toMatchObject([
      {
        ...{ severity: 'critical', subject: 'gone', since: ago(10) },
        summary: '1,200 tasks were on gone when it stopped sending heartbeats',
        evidence: { tasks: 1_200, states: ['RECEIVED'], worker_online: false },
        look: '/api/tasks/?worker=gone&state=RECEIVED',
      },
    ]);
  });

  it('warns of tasks of a worker that was restarted, until it touches them', async () => {
    const online = (minutes: number, pid: number) =>
      ({ hostname: 'w', type: 'online', time: ago(minutes), pid }) as const;
    const beat = { hostname: 'w', type: 'heartbeat', time: NOW } as const;
    const workers = [online(20, 1), online(5, 2), beat];
    const lost = await activity({ tasks: had(20, 'w', 10), workers });
    expect(judge(tasksLost, source({ activity: lost }))?.findings).toMatchObject([
      {
        ...{ severity: 'warning', evidence: { tasks: 20, worker_online: true } },
        summary: '20 tasks were on w when it was restarted',
      },
    ]);
    const again = [...had(20, 'w', 10), ...had(20, 'w', 1)];
    expect(judge(tasksLost, source({ activity: await activity({ tasks: again, workers }) }))).toEqual(CLEAR);
  });

  it('warns of tasks that another worker takes over, also of a worker without a name', async () => {
    const quiet = await activity({});
    const lost = [
      {
        ...{ worker: null, isWorkerOnline: false, isTakenOver: true, count: 2, since: null },
        ...{ states: ['STARTED'], examples: ['1'] },
      },
      { worker: 'w', isWorkerOnline: false, count: 1, since: null, states: ['STARTED'], examples: ['2'] },
      { worker: 'x', isWorkerOnline: false, count: 3, since: null, states: ['STARTED'], examples: ['3'] },
    ];
    expect(
      judge(tasksLost, source({ activity: { ...quiet, open: { ...quiet.open, lost } } }))?.findings,
    ).toMatchObject([
      { severity: 'critical', summary: '3 tasks were on x when it stopped sending heartbeats' },
      {
        severity: 'warning',
        subject: null,
        summary:
          '2 tasks were on a worker without a name when it stopped sending heartbeats; another worker takes over',
        look: '/api/tasks/?state=STARTED',
      },
      { severity: 'critical', summary: '1 task was on w when it stopped sending heartbeats' },
    ]);
  });

  it('finds nothing while the worker is heard', async () => {
    const workers = [{ hostname: 'w', type: 'heartbeat', time: NOW } as const];
    expect(
      judge(tasksLost, source({ activity: await activity({ tasks: had(20, 'w', 10), workers }) })),
    ).toEqual(CLEAR);
  });
});

describe('tasks_missing', () => {
  it('has nothing to judge where the engine cannot lose a task', async () => {
    const quiet = await activity({});
    const { missing: _missing, ...open } = quiet.open;
    expect(judge(tasksMissing, source({ activity: { ...quiet, open } }))).toBeNull();
  });

  const tasks = [{ id: '1', type: 'sent', queue: 'q', time: ago(5) } as const];

  it('finds tasks that are nowhere', async () => {
    const two = [...tasks, { id: '2', type: 'sent', queue: 'q', time: ago(4) } as const];
    const found = async (...missing: string[]) =>
      judge(tasksMissing, source({ activity: await activity({ tasks: two, missing }) }))?.findings;
    expect(await found('1')).toEqual([
      {
        ...{ severity: 'critical', since: ago(5), subject: null },
        summary: '1 task was sent and never received',
        evidence: { tasks: 1, task_ids: ['1'] },
        look: '/api/tasks/?state=PENDING&order=asc',
      },
    ]);
    expect(await found('1', '2')).toMatchObject([{ summary: '2 tasks were sent and never received' }]);
  });

  it('finds nothing in what waits', async () => {
    expect(judge(tasksMissing, source({ activity: await activity({ tasks }) }))).toEqual(CLEAR);
  });
});

describe('tasks_overdue', () => {
  const planned = (eta: number) =>
    activity({ tasks: [{ id: '1', type: 'received', worker: 'w', time: ago(60), eta }] });

  it('finds tasks whose eta has passed', async () => {
    expect(judge(tasksOverdue, source({ activity: await planned(ago(6)) }))?.findings).toMatchObject([
      {
        ...{ severity: 'warning', since: ago(6), subject: null },
        summary: '1 task overdue, by up to 6 min',
        evidence: { tasks: 1, oldest_eta: '2026-11-21T11:54:30.000Z', states: ['RECEIVED'], task_ids: ['1'] },
        look: '/api/tasks/?state=RECEIVED&order=asc',
      },
    ]);
  });

  it('finds nothing in what was due a moment ago, or is not yet', async () => {
    expect(judge(tasksOverdue, source({ activity: await planned(ago(4)) }))).toEqual(CLEAR);
    expect(judge(tasksOverdue, source({ activity: await planned(NOW + 1) }))).toEqual(CLEAR);
  });
});

describe('task_ran_twice', () => {
  const at = (minutes: number) => new Date(ago(minutes)).toISOString();
  const twice = (id: string, name: string, minutes: number) => [
    { id, type: 'received', name, worker: 'w1', retries: 0, time: ago(minutes) } as const,
    { id, type: 'started', worker: 'w1', time: ago(minutes) } as const,
    { id, type: 'received', name, worker: 'w2', retries: 0, time: ago(minutes - 2) } as const,
    { id, type: 'started', worker: 'w2', time: ago(minutes - 2) } as const,
    { id, type: 'succeeded', worker: 'w1', time: ago(minutes - 5) } as const,
    { id, type: 'succeeded', worker: 'w2', time: ago(minutes - 7) } as const,
  ];

  it('finds the names of tasks that ran twice, with their workers, times and overlap', async () => {
    const tasks = [...twice('3', 'mail', 40), ...twice('1', 'report', 30), ...twice('2', 'report', 20)];
    expect(judge(taskRanTwice, source({ activity: await activity({ tasks }) }))?.findings).toMatchObject([
      {
        ...{ severity: 'warning', subject: 'report', since: ago(28), look: '/api/tasks/?name=report' },
        summary: '2 report tasks ran twice without a retry, for up to 3 min at the same time',
        evidence: {
          ...{ tasks: 2, overlap_seconds: 180, workers: ['w1', 'w2'] },
          examples: [
            {
              task_id: '1',
              runs: [
                { worker: 'w1', started: at(30), finished: at(25) },
                { worker: 'w2', started: at(28), finished: at(23) },
              ],
            },
            { task_id: '2' },
          ],
        },
      },
      { subject: 'mail', summary: '1 mail task ran twice without a retry, for up to 3 min at the same time' },
    ]);
  });

  it('is clear after an hour, unknown where another instance collects, and not for a source that cannot tell', async () => {
    expect(judge(taskRanTwice, source({ activity: await activity({ tasks: twice('1', 'a', 70) }) }))).toEqual(
      CLEAR,
    );
    const following = { ...(await activity({})), repeated: null };
    expect(judge(taskRanTwice, source({ activity: following }))).toMatchObject({
      findings: [],
      unknown: 'Only the instance that collects knows which tasks ran twice.',
    });
    // Nothing tells which attempt has started.
    const started = [{ id: '1', type: 'started', worker: 'w', time: ago(1) } as const];
    expect(judge(taskRanTwice, source({ activity: await activity({ tasks: started }) }))).toBeNull();
  });
});

describe('suspects', () => {
  const LOST = "WorkerLostError('Worker exited prematurely: signal 9 (SIGKILL) Job: 1.')";
  /** A task of each name dies with its process, one a minute. */
  const deaths = (...names: string[]) =>
    names.flatMap((name, index) => [
      { id: `${name} dead ${index}`, type: 'started', name, worker: 'w', time: ago(30 - index) } as const,
      {
        id: `${name} dead ${index}`,
        type: 'failed',
        worker: 'w',
        time: ago(29.9 - index),
        exception: LOST,
      } as const,
    ]);
  const usual = [
    ...runs('import', 170, 50, { perMinute: 1, seconds: 40 }),
    ...runs('mail', 170, 50, { perMinute: 10, seconds: 1 }),
  ];
  const lost = async (tasks: Parameters<typeof activity>[0]['tasks']) =>
    judge(tasksLost, source({ activity: await activity({ tasks: [...usual, ...(tasks ?? [])] }) }));

  it('are the names that ran when workers died, more often than chance explains', async () => {
    const found = await lost(deaths('mail', 'thumbnail', 'thumbnail', 'thumbnail'));
    expect(found?.findings).toMatchObject([
      {
        ...{ severity: 'warning', subject: 'thumbnail', look: '/api/tasks/?name=thumbnail' },
        summary:
          'thumbnail was running at 3 of 4 deaths of workers, though it takes less than 1 % of the running time',
        evidence: { deaths: 4, suspects: [{ name: 'thumbnail', deaths: 3 }], workers: ['w'] },
      },
    ]);
    const [suspect] = (found?.findings[0]?.evidence.suspects ?? []) as Suspect[];
    expect(suspect?.share).toBeLessThan(0.01);
    expect(suspect?.chance).toBeLessThan(1e-5);
  });

  it.each<[string, string[]]>([
    ['below three deaths', ['thumbnail', 'thumbnail']],
    ['where three deaths have three causes', ['thumbnail', 'mail', 'import']],
    ['where what runs most ran at most', ['import', 'import', 'import', 'import']],
  ])('are none %s', async (_, names) => {
    expect((await lost(deaths(...names)))?.findings).toEqual([]);
  });

  it('have the exact chance of the binomial distribution', async () => {
    const known = await activity({});
    const counts = {
      ...known.counts,
      names: () => ['a', 'b'],
      ran: (name: string) => (name === 'a' ? 1 : name === 'b' ? 9 : 0),
    };
    const dead = (name: string) => ({
      at: NOW,
      worker: 'w',
      running: [{ id: name, name, worker: 'w', startedAt: NOW }],
    });
    const all = { ...known, counts, deaths: ['a', 'a', 'a', 'b'].map(dead) };
    const [found] = judge(tasksLost, source({ activity: all }))?.findings ?? [];
    // C(4, 3) · 0.1³ · 0.9 + 0.1⁴
    expect(found?.evidence.suspects).toEqual([{ name: 'a', deaths: 3, share: 0.1, chance: 0.0037 }]);
  });

  it('name the latest tasks and at most three workers, until an hour after the last death', async () => {
    const known = await activity({});
    const counts = {
      ...known.counts,
      names: () => ['a', 'b'],
      ran: (name: string) => ({ a: 1, b: 9 })[name] ?? 0,
    };
    const task = (id: string, name: string) => ({ id, name, worker: 'w', startedAt: NOW });
    const deathsUntil = (minutes: number) =>
      [4, 3, 2, 1, 0].map((earlier) => ({
        at: ago(minutes + earlier),
        worker: earlier === 4 ? null : `w${earlier}`,
        running: [task(`b${earlier}`, 'b'), task(`a${earlier}`, 'a')],
      }));
    const found = (minutes: number) =>
      judge(tasksLost, source({ activity: { ...known, counts, deaths: deathsUntil(minutes) } }))?.findings;
    expect(found(60)).toEqual([]);
    expect(found(59)).toMatchObject([
      {
        ...{ subject: 'a', since: ago(63) },
        summary: 'a was running at 5 of 5 deaths of workers, though it takes 10 % of the running time',
        evidence: { workers: ['w3', 'w2', 'w1'], task_ids: ['a2', 'a1', 'a0'] },
      },
    ]);
  });

  it('are unknown where the source does not tell of deaths', async () => {
    const { deaths: _, ...known } = await activity({
      tasks: [{ id: '1', type: 'received', worker: 'gone', time: ago(10) }],
    });
    expect(judge(tasksLost, source({ activity: known }))?.findings).toMatchObject([
      { subject: 'gone', evidence: { deaths: null, suspects: null } },
    ]);
  });
});
