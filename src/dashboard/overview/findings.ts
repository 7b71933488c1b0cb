/** Derives what is wrong from the state of the deployment, worst first, each with a link. */
import type { ComponentsBody, HealthBody, ScheduleBody, TaskBody, WorkerBody } from '../../client.ts';
import { linkTo } from '../route.ts';
import { millis } from '../text/moments.ts';
import { counted, duration } from '../text/numbers.ts';

/** One problem of the deployment. */
export interface Finding {
  readonly tone: 'failure' | 'retry';
  readonly title: string;
  readonly detail: string | null;
  readonly link: string | null;
}

/** Input of {@link findingsOf}. `null` is not loaded yet or cannot be read. */
export interface Evidence {
  readonly health: HealthBody | null;
  readonly workers: readonly WorkerBody[] | null;
  readonly components: ComponentsBody | null;
  readonly schedules: readonly ScheduleBody[] | null;
  /** Tasks that have not ended, those unchanged for longest first. */
  readonly open: readonly TaskBody[] | null;
}

/** Beat and the reader of its schedule may lag by this many milliseconds in normal operation. */
const LATE_MS = 60_000;

/** All problems, worst first. @param now milliseconds since 1970 */
export function findingsOf(evidence: Evidence, now: number): Finding[] {
  return [
    ...ofHealth(evidence.health),
    ...ofWorkers(evidence.workers ?? []),
    ...ofComponents(evidence.components ?? {}),
    ...ofTasks(evidence.open ?? []),
    ...ofSchedules(evidence.schedules ?? [], now),
    ...ofHints(evidence.components ?? {}),
  ].toSorted((a, b) => Number(b.tone === 'failure') - Number(a.tone === 'failure'));
}

function ofHealth(health: HealthBody | null): Finding[] {
  const titles = {
    broker: 'The broker fails its check',
    backend: 'The result backend fails its check',
    workers: 'No worker answers',
  };
  return (['broker', 'backend', 'workers'] as const)
    .filter((name) => health?.checks[name]?.ok === false)
    .map((name) => ({
      tone: 'failure',
      title: titles[name],
      detail: health?.checks[name]?.error ?? null,
      link: name === 'workers' ? linkTo('workers') : linkTo('components'),
    }));
}

function ofWorkers(workers: readonly WorkerBody[]): Finding[] {
  const named = (status: string): string[] =>
    workers.filter((worker) => worker.status === status).map(({ hostname }) => hostname);
  const of = (names: string[], what: string, tone: Finding['tone']): Finding[] =>
    names.length === 0
      ? []
      : [
          {
            tone,
            title: `${counted(names.length, 'worker')} ${what}`,
            detail: listed(names),
            link: linkTo('workers'),
          },
        ];
  return [
    ...of(named('offline'), 'offline', 'retry'),
    ...of(named('stale'), 'late with heartbeats', 'retry'),
  ];
}

const listed = (names: readonly string[]): string =>
  names.length <= 4 ? names.join(', ') : `${names.slice(0, 3).join(', ')} and ${names.length - 3} more`;

function ofComponents(components: ComponentsBody): Finding[] {
  return Object.entries(components)
    .filter(([, { status, enabled }]) => enabled && status === 'down')
    .map(([key, { name }]) => ({
      tone: 'failure',
      title: `${name} is down`,
      detail: key,
      link: linkTo('components'),
    }));
}

const FLAGS = {
  worker_lost: [
    'on a worker that is gone',
    'Their worker stopped sending heartbeats: they will not end by themselves.',
  ],
  overdue: ['overdue', 'Their eta has passed and they have not started.'],
  never_received: ['sent and never received', 'They are in no queue and on no worker.'],
} as const;

function ofTasks(open: readonly TaskBody[]): Finding[] {
  return (['worker_lost', 'never_received', 'overdue'] as const).flatMap((flag) => {
    const flagged = open.filter(({ flags }) => flags.includes(flag));
    const [first] = flagged;
    if (first === undefined) return [];
    const [title, detail] = FLAGS[flag];
    const isSame = flagged.every(({ worker }) => worker === first.worker);
    const query = {
      state: [...new Set(flagged.map(({ state }) => state))],
      ...(isSame && first.worker !== null && { worker: first.worker }),
    };
    return [
      {
        tone: 'failure' as const,
        title: `${counted(flagged.length, 'task')} ${title}`,
        detail,
        link: linkTo('tasks', query),
      },
    ];
  });
}

function ofSchedules(schedules: readonly ScheduleBody[], now: number): Finding[] {
  return schedules.flatMap(({ name, enabled, next_run_at }) => {
    const next = millis(next_run_at);
    if (enabled === false || next === null || now - next < LATE_MS) return [];
    return [
      {
        tone: 'retry' as const,
        title: `Schedule ${name} was missed`,
        detail: `It was due ${duration(Math.round((now - next) / 1_000) * 1_000)} ago. Is what starts it running?`,
        link: linkTo('schedules'),
      },
    ];
  });
}

/** @returns the hints of a component about settings that hide data */
export function hintsOf(config: Readonly<Record<string, unknown>> | null): string[] {
  const hints = config?.hints;
  return Array.isArray(hints) ? hints.filter((hint) => typeof hint === 'string') : [];
}

function ofHints(components: ComponentsBody): Finding[] {
  return Object.entries(components).flatMap(([key, { config }]) =>
    hintsOf(config).map((hint) => ({
      tone: 'retry' as const,
      title: hint,
      detail: key,
      link: linkTo('components'),
    })),
  );
}
