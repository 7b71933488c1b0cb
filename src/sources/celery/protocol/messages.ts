/** Decoded messages and results of a Celery deployment. */
import type { TaskChange, TaskFacts } from '../../../history/history.ts';
import type { SentWith, TaskTextField } from '../../../model.ts';

/** A child in a stored result: a task, or a group of tasks. */
export interface ResultNode {
  /** Id of the task or group. */
  readonly id: string;
  readonly parent: string | null;
  /** `null` for a task. */
  readonly members: readonly ResultNode[] | null;
}

/** A stored result ("meta") of a task. */
export interface StoredResult {
  readonly change: TaskChange;
  /**
   * Tasks and groups that the task sent: next steps of its chain, callbacks and `.delay()` children, but
   * neither errbacks nor the body of its chord.
   */
  readonly children: readonly ResultNode[];
}

/** A task that is not sent yet: an entry of `chain`, `callbacks`, `errbacks` or `chord` in a message's body. */
export interface Signature {
  readonly name: string | null;
  /** Usually known in advance; `null` if the worker will choose it. */
  readonly taskId: string | null;
  readonly groupId: string | null;
  /** Celery's `subtask_type`: `chain`, `group`, `chord`, `map`, `starmap`, `chunks`; `null` for a plain task. */
  readonly type: string | null;
  /**
   * The steps of a chain in running order, the members of a group, or the header of a chord; empty for a plain
   * task.
   */
  readonly tasks: readonly Signature[];
  /** The body of a chord. */
  readonly body: Signature | null;
  /** Its own `link` and `link_error` options. */
  readonly callbacks: readonly Signature[];
  readonly errbacks: readonly Signature[];
  /** Its own `chord` option: the body if it is a header task of a chord. */
  readonly chord: Signature | null;
}

/** A message in a queue, or one that a worker has taken and not acknowledged. */
export interface QueuedTask {
  readonly facts: TaskFacts;
  readonly deliveryTag: string;
  /** Name of the entry of a schedule that sent it (`periodic_task_name`); `null`: it names none. */
  readonly periodicTask: string | null;
  /** The next steps of its chain, in running order. */
  readonly chain: readonly Signature[];
  readonly callbacks: readonly Signature[];
  readonly errbacks: readonly Signature[];
  /** The body of its chord. */
  readonly chord: Signature | null;
}

/**
 * A change with all fields but `isLogged` and those that only the header of a task's message has, `undefined` where a
 * message has none. All changes name the fields in the same order, so that V8 gives them one shape, which keeps the
 * history fast.
 */
export type FullChange = {
  -readonly [K in Exclude<keyof TaskChange, 'isLogged' | keyof SentWith>]-?: TaskChange[K] | undefined;
} & Pick<TaskChange, 'id' | 'type' | 'time' | 'origin'>;

/** Celery's built-in tasks that run another task over many arguments (celery/app/builtins.py). */
const KINDS: Readonly<Record<string, NonNullable<TaskChange['kind']>>> = {
  'celery.map': 'map',
  'celery.starmap': 'starmap',
  'celery.chunks': 'chunks',
};

/** The kind of a task, if its name is that of one of Celery's own tasks. */
export function kindOf(name: string | undefined): TaskChange['kind'] | undefined {
  return name?.startsWith('celery.') === true ? KINDS[name] : undefined;
}

/** Lengths at which Celery cuts a repr: by default 1024 (`argsrepr_maxsize`, `resultrepr_maxsize`). */
const USUAL_LENGTH = 1000;

/**
 * Whether Celery cut this repr. Its `saferepr` writes `...` for what it leaves out: at the end if the text is
 * too long, and for values nested deeper than three levels. Three dots inside a string are the app's own,
 * unless they end a text of the length at which Celery cuts.
 */
export function wasCut(repr: string): boolean {
  // Most reprs have no dots, and V8 searches faster from the front.
  if (!repr.includes('...')) return false;
  const last = repr.lastIndexOf('...');
  if (repr.length >= USUAL_LENGTH && last > repr.length - 40) return true;
  let inString = false;
  for (let at = 0; at < repr.length; at += 1) {
    const code = repr.charCodeAt(at);
    if (code === 92 && inString) at += 1;
    else if (code === 39) inString = !inString;
    else if (code === 46 && !inString && repr.startsWith('...', at)) return true;
  }
  return false;
}

/** The texts of a change that Celery cut. */
export function cutFields({ args, kwargs, result }: FullChange): readonly TaskTextField[] | undefined {
  let cut: TaskTextField[] | undefined;
  if (typeof args === 'string' && wasCut(args)) cut = ['args'];
  if (typeof kwargs === 'string' && wasCut(kwargs)) cut = [...(cut ?? []), 'kwargs'];
  if (typeof result === 'string' && wasCut(result)) cut = [...(cut ?? []), 'result'];
  return cut;
}

/**
 * Parses ISO 8601 as Python writes it. Without an offset, the time is UTC: Celery 5.2 writes `date_done` like
 * that, and `Date.parse` would read it as local time.
 *
 * @returns milliseconds since 1970; `undefined` if the value is not a time
 */
export function parseMoment(text: unknown): number | undefined {
  if (typeof text !== 'string') return undefined;
  const time = text.indexOf('T');
  const last = text.charCodeAt(text.length - 1);
  const hasOffset = last === 90 || text.indexOf('+', time) > 0 || text.indexOf('-', time) > time;
  const moment = Date.parse(time < 0 || hasOffset ? text : `${text}Z`);
  return Number.isNaN(moment) ? undefined : moment;
}

/** The same of a field of a message: `null` means that there is none, an absent field that it is unknown. */
export function momentOf(value: unknown): number | null | undefined {
  return value === null ? null : parseMoment(value);
}

/** The longest id that a history accepts. */
const MAX_LENGTH = 512;

/** Whether a value can be the id of a task or of a group. */
export function isId(id: unknown): id is string {
  return typeof id === 'string' && id !== '' && id.length <= MAX_LENGTH;
}

const DELAYED = /(?:^|_)celery_delayed_\d{1,2}$/;

/** Whether this is an exchange or queue in which kombu delays messages until their eta, whatever its prefix. */
export function isDelayedName(name: string): boolean {
  return DELAYED.test(name);
}
