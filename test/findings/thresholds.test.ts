/** Each rule at the moment from which on it finds something, and just before. */
import { describe, expect, it } from 'vitest';
import type { Rule, SourceSituation } from '../../src/findings/finding.ts';
import { tasksOverdue } from '../../src/findings/rules/open-tasks.ts';
import { queueGrowing, queueWaiting } from '../../src/findings/rules/queues.ts';
import { scheduleMissed } from '../../src/findings/rules/schedule-missed.ts';
import { taskOverrun } from '../../src/findings/rules/task-overrun.ts';
import { workerStuck, workersSilent } from '../../src/findings/rules/workers.ts';
import { activity, ago, judge, queue, runs, schedule, source, worker } from './situations.ts';

const QUIET = await activity({});
const USUAL = await activity({ tasks: runs('quick', 120, 60, { perMinute: 2, seconds: 0.1 }) });
const SECOND = 1 / 60;

const TASK = { name: 'quick', worker: 'w', state: 'STARTED' } as const;
/** Tasks that have run for so long, each in a slot of one worker. */
function running(minutes: number, count = 1): SourceSituation['activity'] {
  const tasks = Array.from({ length: count }, (_, slot) => ({
    ...TASK,
    id: `t${slot}`,
    startedAt: ago(minutes),
  }));
  return { ...USUAL, open: { ...USUAL.open, running: tasks } };
}

interface Threshold {
  readonly rule: Rule;
  /** What lasts for so many minutes. */
  readonly lasting: (minutes: number) => SourceSituation;
  readonly warning: number;
  readonly critical: number | null;
}

const THRESHOLDS: readonly Threshold[] = [
  {
    rule: queueGrowing,
    lasting: (minutes) =>
      source({
        activity: { ...QUIET, growing: [{ queue: 'mail', since: ago(minutes), from: 4, waiting: 300 }] },
      }),
    ...{ warning: 15, critical: 60 },
  },
  {
    rule: queueWaiting,
    lasting: (minutes) => source({ queues: [queue('mail', 1, minutes)] }),
    ...{ warning: 10, critical: 30 },
  },
  {
    rule: scheduleMissed,
    lasting: (minutes) => source({ schedules: [schedule('nightly', minutes)] }),
    ...{ warning: 1, critical: null },
  },
  {
    rule: tasksOverdue,
    lasting: (minutes) => {
      const overdue = { count: 1, since: ago(minutes), states: ['RECEIVED'], examples: ['1'] };
      return source({ activity: { ...QUIET, open: { ...QUIET.open, overdue } } });
    },
    ...{ warning: 5, critical: null },
  },
];

describe('a rule finds', () => {
  it.each(THRESHOLDS)('$rule.code from $warning minutes on, critical from $critical', (threshold) => {
    const { rule, lasting, warning, critical } = threshold;
    const at = (minutes: number) => judge(rule, lasting(minutes))?.findings.map(({ severity }) => severity);
    expect(at(warning - SECOND)).toEqual([]);
    expect(at(warning)).toEqual(['warning']);
    if (critical === null) return;
    expect(at(critical - SECOND)).toEqual(['warning']);
    expect(at(critical)).toEqual(['critical']);
  });

  it('workers_silent of a worker that was heard less than an hour ago', () => {
    const silent = (minutes: number) =>
      judge(
        workersSilent,
        source({
          activity: { ...QUIET, silent: [{ hostname: 'w1', heardAt: ago(minutes) }] },
          workers: [worker('there')],
        }),
      )?.findings.length;
    expect([silent(60), silent(60 - SECOND)]).toEqual([0, 1]);
  });

  it('task_overrun after a minute, if runs usually take a third of that at most', () => {
    const found = (minutes: number) =>
      judge(taskOverrun, source({ activity: running(minutes), workers: [worker('w')] }))?.findings.length;
    expect([found(1), found(1 + SECOND)]).toEqual([0, 1]);
  });

  it('worker_stuck after five minutes, if runs usually take a third of that at most', () => {
    const stuck = (minutes: number) =>
      judge(
        workerStuck,
        source({
          activity: running(minutes, 2),
          workers: [worker('w', { concurrency: 2, active: 2 })],
        }),
      )?.findings.map(({ subject }) => subject);
    expect([stuck(5), stuck(5 + SECOND)]).toEqual([[], ['w']]);
  });
});
