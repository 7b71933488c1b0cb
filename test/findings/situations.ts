/** Situations for rules: activities as a real history sums them up, and bodies of the other parts. */
import type { JudgedQueue, Judgement, Rule, SourceSituation } from '../../src/findings/finding.ts';
import type { TaskChange, WorkerChange } from '../../src/history/history.ts';
import { createMemoryHistory } from '../../src/history/memory-history.ts';
import type { Activity } from '../../src/source.ts';
import type { ComponentBody, ScheduleBody, WorkerBody } from '../../src/wire.ts';

const MINUTE = 60_000;
/** The moment at which rules judge. */
export const NOW = Date.UTC(2026, 10, 21, 12, 0, 30);
/** So many minutes before {@link NOW}. */
export const ago = (minutes: number): number => NOW - minutes * MINUTE;

const CONTEXT = { signal: new AbortController().signal };

/** What happens to a deployment. */
export interface Story {
  /** Minutes before now at which the history began. Default 180. */
  readonly begun?: number;
  readonly tasks?: readonly (Partial<TaskChange> & Pick<TaskChange, 'id' | 'type'>)[];
  readonly workers?: readonly WorkerChange[];
  /** Ids of tasks that are nowhere. */
  readonly missing?: readonly string[];
}

/** The activity after a story was recorded, each message at the time that it carries. */
export async function activity({
  begun = 180,
  tasks = [],
  workers = [],
  missing = [],
}: Story): Promise<Activity> {
  let now = ago(begun);
  const history = createMemoryHistory({ now: () => now });
  const steps = [
    ...tasks.map((change) => {
      const full: TaskChange = { origin: 'event', time: NOW, ...change };
      return { at: full.time ?? NOW, run: () => history.writer.recordTask(full) };
    }),
    ...workers.map((change) => ({ at: change.time, run: () => history.writer.recordWorker(change) })),
  ].sort((a, b) => a.at - b.at);
  for (const { at, run } of steps) {
    now = Math.max(now, at);
    run();
  }
  for (const id of missing) history.writer.recordMissing(id, true);
  now = NOW;
  return await history.reader.getActivity(CONTEXT);
}

/** Runs of one name, evenly spread: so many each minute, of which some fail. */
export function runs(
  name: string,
  from: number,
  to: number,
  each: { readonly perMinute: number; readonly failed?: number; readonly seconds?: number },
): (Partial<TaskChange> & Pick<TaskChange, 'id' | 'type'>)[] {
  const { perMinute, failed = 0, seconds = 1 } = each;
  const changes: (Partial<TaskChange> & Pick<TaskChange, 'id' | 'type'>)[] = [];
  for (let minute = from; minute > to; minute--) {
    for (let run = 0; run < perMinute; run++) {
      const time = ago(minute) + (run * MINUTE) / perMinute;
      const type = run < failed ? 'failed' : 'succeeded';
      changes.push({ id: `${name} ${minute} ${run}`, type, name, time, runtime: seconds });
    }
  }
  return changes;
}

/** A source of which nothing is wrong, with what is given. */
export function source(parts: Partial<SourceSituation> = {}): SourceSituation {
  const check = { ok: null, error: null };
  return {
    name: 'shop',
    error: null,
    asOf: null,
    hasTasks: true,
    activity: undefined,
    workers: undefined,
    queues: undefined,
    schedules: undefined,
    components: {},
    checks: { broker: check, backend: check, workers: check },
    ...parts,
  };
}

/** What a rule says now; which subjects it could not judge, only where there are any. */
export function judge(rule: Rule, situation: SourceSituation): Judgement | null {
  const steps = rule.judge(situation, NOW);
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  if (step.value?.unknown !== null) return step.value;
  const { unjudged: _none, ...judgement } = step.value;
  return judgement;
}

export function worker(hostname: string, fields: Partial<WorkerBody> = {}): WorkerBody {
  return {
    ...{ hostname, status: 'online', last_heartbeat: null, last_seen_seconds: null, pid: null, pool: null },
    ...{ pool_size: null, concurrency: null, active: null, processed: null, registered: null },
    ...{ registered_tasks: null, queues: null, software: null, load_average: null, uptime_seconds: null },
    source: 'shop',
    ...fields,
  };
}

export function queue(name: string, waiting: number | null, oldestMinutes: number | null): JudgedQueue {
  const oldest_due_seconds = oldestMinutes === null ? null : oldestMinutes * 60;
  const oldestDueAt = oldestMinutes === null ? null : ago(oldestMinutes);
  const unknown = { reserved: null, consumers: null, engine_states: null, paused: null, as_of: null };
  return { ...unknown, name, waiting, oldest_due_seconds, oldestDueAt, source: 'shop' };
}

export function schedule(
  name: string,
  nextMinutesAgo: number | null,
  enabled: boolean | null = true,
): ScheduleBody {
  return {
    ...{ id: name, app: null, name, task: 'report', schedule: null, enabled, args: null, kwargs: null },
    ...{ queue: null, timezone: null, last_run_at: null, total_run_count: null, source: 'shop' },
    last_runs: null,
    next_run_at: nextMinutesAgo === null ? null : new Date(ago(nextMinutesAgo)).toISOString(),
  };
}

export function component(fields: Partial<ComponentBody> = {}): ComponentBody {
  return { name: 'Broker', enabled: true, status: 'down', pid: null, url: null, config: null, ...fields };
}
