/** What a client and its workers know of each task, and how that differs from what a monitor shows. */
import type { CelerySources } from '../../src/celery.ts';
import type { Task } from '../../src/model.ts';
import type { TaskPosition } from '../../src/source.ts';
import { context } from '../helpers/celery-events.ts';
import { query } from '../history/telling.ts';

/** A line of the workers' log: times in seconds since 1970. */
interface Logged {
  readonly what: 'begins' | 'ends';
  readonly attempt: number;
  readonly at: number;
  readonly worker: string;
}

/** What is true of a task. */
export interface Truth {
  readonly id: string;
  readonly name: string;
  readonly args: string;
  readonly kwargs: string;
  readonly queue: string;
  /** Before and after it was sent, in seconds since 1970. */
  readonly sent: readonly [number, number];
  readonly countdown: number | null;
  /** Whether it ends, rather than being on a worker that is killed. */
  readonly ends: boolean;
  /** Whether its end is stored. */
  readonly stored: boolean;
  /** What the client's `AsyncResult` says in the end. */
  readonly state: string;
  readonly result: string | null;
  readonly exception: string | null;
  readonly log: readonly Logged[];
}

/** The fields that are compared. */
const FIELDS = [
  ...['state', 'name', 'args', 'kwargs', 'queue', 'worker', 'retries', 'eta'],
  ...['sent', 'started', 'finished', 'runtime', 'result', 'exception', 'waitSeconds'],
] as const;

/** How long a message may be under way on a busy machine, in seconds. */
const LATE = 10;

/** Every task by its id, by walking the pages. */
export async function allTasksOf(sources: CelerySources): Promise<Map<string, Task>> {
  const tasks = new Map<string, Task>();
  let after: TaskPosition | null = null;
  do {
    const page = await sources.tasks.listTasks(query({ after }), context);
    for (const task of page.tasks) tasks.set(task.id, task);
    after = page.next;
  } while (after !== null);
  return tasks;
}

/** Judges a field: `null` if it is right, otherwise what is right. */
type Judge = (shown: never, truth: Truth, task: Task) => unknown;

const begins = ({ log }: Truth): Logged[] => log.filter(({ what }) => what === 'begins');
const last = (truth: Truth): Logged | undefined =>
  begins(truth)
    .toSorted((a, b) => a.attempt - b.attempt)
    .at(-1);
const end = (truth: Truth): number | undefined =>
  truth.log
    .filter(({ what }) => what === 'ends')
    .toSorted((a, b) => a.attempt - b.attempt)
    .at(-1)?.at;

/** In the end. A task whose end no backend has is judged by its worker. */
function stateOf(truth: Truth): string {
  if (truth.name === 'fields.silent') return 'SUCCESS';
  // A worker may store a retry after the next attempt has started, and over its start.
  const ended = truth.log.filter(({ what }) => what === 'ends').length;
  if (!truth.ends && begins(truth).length > ended) return 'STARTED';
  return truth.state;
}

const seconds = (date: Date): number => date.getTime() / 1_000;
const near = (date: Date, at: number | undefined): boolean =>
  at !== undefined && Math.abs(seconds(date) - at) < LATE;
const hasRun = (truth: Truth): boolean => begins(truth).length > 0;
/** Celery loses events of workers with a pool of threads (celery/celery#10434), and with them the last attempt. */
const losesEvents = ({ queue }: Truth): boolean => queue === 'threads';

const JUDGES: Readonly<Record<(typeof FIELDS)[number], Judge>> = {
  state: (shown: string, truth) => (shown === stateOf(truth) ? null : stateOf(truth)),
  name: (shown: string, { name }) => (shown === name ? null : name),
  args: (shown: string, { args }) => (shown === args ? null : args),
  kwargs: (shown: string, { kwargs }) => (shown === kwargs ? null : kwargs),
  queue: (shown: string, { queue }) => (shown === queue ? null : queue),
  worker: (shown: string, truth) =>
    !hasRun(truth) || shown === last(truth)?.worker ? null : last(truth)?.worker,
  retries(shown: number, truth) {
    const attempt = last(truth)?.attempt ?? 0;
    return shown === attempt || (losesEvents(truth) && shown < attempt) ? null : attempt;
  },
  eta(shown: Date, { countdown, sent, log }) {
    // That of a retry is checked by the tests of recordings.
    if (log.some(({ attempt }) => attempt > 0)) return null;
    return countdown !== null && near(shown, sent[1] + countdown) ? null : (countdown ?? 'none');
  },
  sent: (shown: Date, { sent, log }) =>
    seconds(shown) >= sent[0] - 0.01 && seconds(shown) <= Math.max(sent[1], ...log.map(({ at }) => at)) + 0.01
      ? null
      : sent,
  started(shown: Date, truth, task) {
    // Of all attempts, the last one is the nearest.
    const distance = ({ at }: Logged): number => Math.abs(seconds(shown) - at);
    const nearest = begins(truth).toSorted((a, b) => distance(a) - distance(b))[0];
    const isLast = nearest === last(truth) || distance(last(truth) as Logged) < 0.1;
    // Where the last attempt is not known, the start is that of the one that is shown.
    const isShown = losesEvents(truth) && nearest?.attempt === task.retries;
    return (isLast || isShown) && near(shown, last(truth)?.at) ? null : last(truth);
  },
  finished(shown: Date, truth) {
    if (stateOf(truth) === 'STARTED') return 'none';
    return !hasRun(truth) || near(shown, end(truth)) || stateOf(truth) === 'REVOKED' ? null : end(truth);
  },
  runtime(shown: number, truth) {
    const took = Number(end(truth)) - Number(last(truth)?.at);
    // Nobody writes down the end of a task whose process is killed.
    if (Number.isNaN(took)) return null;
    return Math.abs(shown - took) < LATE ? null : took;
  },
  result: (shown: string, { result }) => (shown === result || `'${shown}'` === result ? null : result),
  exception: (shown: string, { exception, state }) =>
    shown === exception || state === 'REVOKED' ? null : exception,
  waitSeconds(shown: number, truth, task) {
    const before = truth.log.filter(({ attempt }) => attempt < (last(truth)?.attempt ?? 0));
    const since = Math.max(truth.sent[0] + (truth.countdown ?? 0), ...before.map(({ at }) => at));
    const most = Number(last(truth)?.at) - since + 1;
    return shown >= 0 && shown <= Math.max(1, most) ? null : [most, task.started];
  },
};

/** Whether a monitor that heard everything knows this field of this task. */
function isKnowable(field: string, truth: Truth, sent: boolean): boolean {
  const state = stateOf(truth);
  if (losesEvents(truth) && ['started', 'runtime', 'waitSeconds'].includes(field)) return false;
  switch (field) {
    case 'sent':
    case 'queue':
      return sent;
    case 'eta':
      return truth.countdown !== null && begins(truth).every(({ attempt }) => attempt === 0);
    case 'worker':
    case 'started':
      return hasRun(truth);
    case 'waitSeconds':
      // A client dates its event after it has sent the message. If it is held up in between, the task starts earlier.
      return hasRun(truth) && Number(last(truth)?.at) >= truth.sent[1];
    case 'finished':
      return state !== 'STARTED';
    case 'runtime':
      return state === 'SUCCESS' || (state === 'FAILURE' && hasRun(truth));
    case 'result':
      return truth.result !== null;
    case 'exception':
      return state === 'FAILURE';
    default:
      return true;
  }
}

/** How to compare. */
interface Comparison {
  /** Whether clients and workers report what they send. */
  readonly sent: boolean;
  /** Whether the monitor may not know what it was not there to hear. Default false. */
  readonly mayBeNull?: boolean;
}

/** Everything that a monitor shows otherwise than it is. Unknown tasks are right for one that came late. */
export function differencesOf(
  truths: readonly Truth[],
  tasks: ReadonlyMap<string, Task>,
  { sent, mayBeNull = false }: Comparison,
): unknown[] {
  const found: unknown[] = [];
  for (const truth of truths) {
    const task = tasks.get(truth.id);
    if (task === undefined) {
      if (!mayBeNull) found.push([truth.name, truth.id, 'is not known']);
      continue;
    }
    for (const field of FIELDS) {
      const shown = task[field] ?? null;
      if (shown === null) {
        if (!mayBeNull && isKnowable(field, truth, sent)) found.push([truth.name, truth.id, field, null]);
        continue;
      }
      // What was not there for the end of a task knows an earlier state if the end is not stored, or else the stored state.
      if (field === 'state' && mayBeNull && (!truth.stored || shown === truth.state)) continue;
      const right = JUDGES[field](shown as never, truth, task);
      if (right !== null) found.push([truth.name, truth.id, field, shown, right]);
    }
    const isLost = task.flags?.includes('worker_lost') === true;
    // One that came after the worker was gone never heard of that worker.
    if (isLost === truth.ends && (isLost || !mayBeNull))
      found.push([truth.name, truth.id, 'flags', task.flags, truth.ends]);
  }
  return found;
}

/** The share of the tasks of which a monitor knows a field, in percent of those that have it. */
export function sharesOf(truths: readonly Truth[], tasks: ReadonlyMap<string, Task>): Record<string, number> {
  return Object.fromEntries(
    FIELDS.map((field) => {
      const having = truths.filter((truth) => isKnowable(field, truth, true));
      const known = having.filter(({ id }) => (tasks.get(id)?.[field] ?? null) !== null);
      return [field, Math.round((known.length / having.length) * 100)];
    }),
  );
}
