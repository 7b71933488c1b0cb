/** What rules judge, and what they find. Times are milliseconds since 1970. */
import type { QueueLimiter, Worker } from '../model.ts';
import type { Steps } from '../scheduler.ts';
import type { Activity } from '../source.ts';
import type {
  ComponentBody,
  FindingBody,
  QueueBody,
  ScheduleBody,
  SourceErrorCode,
  WorkerBody,
} from '../wire.ts';

/** Data of a source; `undefined`: the source does not supply it; `null`: it could not be read. */
export type Known<Data> = Data | null | undefined;

/** A queue as it is shown, without the answers about it, and what they need. Times are milliseconds since 1970. */
export interface JudgedQueue extends Omit<QueueBody, 'blocked_by' | 'drain'> {
  /** When its oldest due task started to wait; `null`: none is due, or unknown. */
  readonly oldestDueAt: number | null;
  /** Most tasks that may run at a time. Default: no limit, or unknown. */
  readonly concurrencyLimit?: number | null;
  /** Its rate limit that counts now. Default: none, or unknown. */
  readonly limiter?: QueueLimiter | null;
}

/** A worker as it is shown, and the rate limits of tasks on it. */
export type JudgedWorker = WorkerBody & Pick<Worker, 'rateLimits'>;

/** All data about one source. */
export interface SourceSituation {
  readonly name: string;
  /** Why its data is not fresh; `null`: the data is fresh. */
  readonly error: SourceErrorCode | null;
  /** When it was last fresh; `null`: never, or unknown. */
  readonly asOf: number | null;
  readonly hasTasks: boolean;
  readonly activity: Known<Activity>;
  readonly workers: Known<readonly JudgedWorker[]>;
  readonly queues: Known<readonly JudgedQueue[]>;
  /** Also `undefined` if the deployment uses no schedules. */
  readonly schedules: Known<readonly ScheduleBody[]>;
  /** Its components, by their keys. */
  readonly components: Readonly<Record<string, ComponentBody>>;
  /** Outcomes of checks, by the checked part. */
  readonly checks: Readonly<Record<CheckedPart, CheckOutcome>>;
}

/** The parts that health checks check. */
export type CheckedPart = 'broker' | 'backend' | 'workers';

/** The outcome of a health check. */
export interface CheckOutcome {
  /** `null`: not configured, or unknown. */
  readonly ok: boolean | null;
  readonly error: string | null;
}

/** A problem. */
export interface Finding {
  readonly severity: 'critical' | 'warning';
  /** Start of the problem, if known; `null`: when it was first found. */
  readonly since: number | null;
  /** The affected name, queue, worker, schedule or server; `null`: the whole source. */
  readonly subject: string | null;
  /** One sentence for people. */
  readonly summary: string;
  /** Figures and names behind it. */
  readonly evidence: Readonly<Record<string, unknown>>;
  /** Path and query of the API that list what is affected. */
  readonly look: string;
}

/** The result of a rule for a source. */
export interface Judgement {
  /** The worst first. */
  readonly findings: readonly Finding[];
  /** Why the rule could not judge everything; `null`: it could. */
  readonly unknown: string | null;
  /** The subjects that it could not judge. Default: all if `unknown` gives a reason, otherwise none. */
  readonly unjudged?: readonly string[];
}

/** A rule that judges one source at a time. */
export interface Rule {
  /** Stable. */
  readonly code: string;
  /** Judges; `null`: the rule does not apply to the source. @param now milliseconds since 1970 */
  judge(source: SourceSituation, now: number): Steps<Judgement | null>;
}

/** A judgement without findings. @param unknown as in {@link Judgement} */
export function clear(unknown: string | null = null): Judgement {
  return { findings: [], unknown };
}

/** A judgement of everything. @param findings the worst first */
export function found(findings: readonly Finding[]): Judgement {
  return { findings, unknown: null };
}

/** Sorts findings, the earliest first. */
export function bySince(a: Finding, b: Finding): number {
  return (a.since ?? 0) - (b.since ?? 0);
}

/** The activity, for rules that judge what happens, or why there is none. */
export function activityOf(source: SourceSituation): {
  readonly activity: Activity | null;
  readonly unknown: string;
} {
  const { activity } = source;
  if (activity === undefined) return { activity: null, unknown: 'The source has no activity counts.' };
  if (activity === null) return { activity: null, unknown: 'The activity counts could not be read.' };
  return activity.blind === null ? { activity, unknown: '' } : { activity: null, unknown: activity.blind };
}

/** A rule about what tasks do, of sources that have tasks. */
export function activityRule(
  code: string,
  judge: (activity: Activity, now: number) => Steps<Judgement | null>,
): Rule {
  return {
    code,
    *judge(source, now) {
      if (!source.hasTasks) return null;
      const { activity, unknown } = activityOf(source);
      return activity === null ? clear(unknown) : yield* judge(activity, now);
    },
  };
}

/** The address of a list of tasks. Members of `query` that are arrays are repeated. */
export function lookAtTasks(query: Readonly<Record<string, string | readonly string[]>>): string {
  const parameters = new URLSearchParams();
  for (const [name, values] of Object.entries(query)) {
    for (const value of [values].flat()) parameters.append(name, value);
  }
  return `/api/tasks/?${parameters}`;
}

/** `1 task`, `3 tasks`. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
}

/** `4 min`, `2 h 5 min`; below a minute in seconds, below half a second in milliseconds. */
export function inWords(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds === 0 && ms >= 1) return `${Math.round(ms)} ms`;
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Three figures are more than is known. */
export function rounded(value: number): number {
  return Number(value.toPrecision(3));
}

/** The first few of a list, in words. */
export function listed(names: readonly string[]): string {
  return names.length <= 4
    ? names.join(', ')
    : `${names.slice(0, 3).join(', ')} and ${names.length - 3} more`;
}

/** A reported finding, in the form in which the API serves it, without secrets. Frozen. */
export interface FindingNotice extends Readonly<FindingBody> {
  /** 16 hexadecimal digits: always the same for the same code, source and subject. */
  readonly id: string;
  /** `cleared`: it is no longer found. The other fields keep their values, with the worst reported severity. */
  readonly status: 'raised' | 'cleared';
}

/** Further information for `onFinding`. */
export interface FindingContext {
  /** Where to look, as an absolute URL; `null`: the option `publicUrl` is not a URL. */
  readonly link: string | null;
}

/**
 * Called once when a problem is found, again if it becomes critical, and once when it is gone; at most once a
 * minute for each finding. Problems that last for less than 10 seconds are not reported. A call that throws, rejects or
 * takes longer than 30 seconds is reported to `onError` and repeated after a minute, up to 5 calls in all.
 *
 * With a `store`, one of the instances that share it makes all calls; after another one has taken over, a call may come
 * again, with the same `id` and `status`. Without a store, each instance calls, and calls again after a restart.
 */
export type OnFinding = (finding: FindingNotice, context: FindingContext) => unknown;
