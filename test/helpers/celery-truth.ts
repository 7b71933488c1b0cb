/** The state of each task in the recorded traffic, derived independently of the code under test. */
import { eventsIn, type Recording, resultIn, type Truth } from './celery-recordings.ts';

/** The data of one task in a recording. Times in milliseconds; `null` if unknown. */
export interface Told {
  readonly name: string | null;
  /** `null`: nothing was published about this task. */
  readonly state: string | null;
  readonly worker: string | null;
  readonly queue: string | null;
  readonly retries: number | null;
  /** `undefined`: no event reports them. */
  readonly args: string | undefined;
  readonly kwargs: string | undefined;
  readonly eta: number | null;
  readonly sent: number | null;
  readonly received: number | null;
  /** `undefined`: only the result backend says that it started, without a time. */
  readonly started: number | null | undefined;
  readonly finished: number | null;
  /** As the engine reports it; otherwise from start to end. */
  readonly runtime: number | null;
  /** Text that the result must begin with. */
  readonly result: string | null;
  readonly parent: readonly (string | null)[];
  readonly root: readonly (string | null)[];
}

const ENDS = new Set(['task-succeeded', 'task-failed', 'task-revoked', 'task-rejected']);

/**
 * What every task of a recording must look like, worked out from the messages in their recorded order
 * and from what the client knows: simply, since here nothing is late or twice.
 */
export function whatIsTold(recording: Recording): Map<string, Told> {
  const events = new Map<string, Record<string, unknown>[]>();
  const metas = new Map<string, Record<string, unknown>[]>();
  const add = (map: typeof events, id: unknown, item: Record<string, unknown>): void => {
    map.set(String(id), [...(map.get(String(id)) ?? []), item]);
  };
  for (const published of recording.messages) {
    for (const event of eventsIn(published)) if (event.uuid !== undefined) add(events, event.uuid, event);
    const meta = resultIn(published);
    if (meta !== null) add(metas, meta.task_id, meta);
  }
  const told = new Map<string, Told>();
  for (const task of recording.tasks) {
    told.set(task.id, tellOf(task, recording, events.get(task.id) ?? [], metas.get(task.id) ?? []));
  }
  return told;
}

function tellOf(
  task: Truth,
  recording: Recording,
  events: Record<string, unknown>[],
  metas: Record<string, unknown>[],
): Told {
  const time = (type: string): number | null => {
    const last = events.filter((event) => event.type === type).at(-1);
    return last === undefined ? null : Number(last.timestamp) * 1000;
  };
  const received = time('task-received');
  const lastRun = events.filter((event) => Number(event.timestamp) * 1000 >= (received ?? 0));
  const end = lastRun.filter((event) => ENDS.has(String(event.type)) && event.requeue !== true).at(-1);
  const started = lastRun.filter((event) => event.type === 'task-started').at(-1);
  const meta = metas.at(-1);
  const stored = metas.filter((item) => typeof item.date_done === 'string').at(-1);
  const byWorker = events.filter((event) => event.type !== 'task-sent');
  const isNamed = events.some((event) => event.name !== undefined) || meta?.name != null;
  const isPlaced = events.some((event) => event.root_id !== undefined);
  const state = stateOf(task, recording, events.length > 0 || metas.length > 0);
  const opening = events
    .filter((event) => event.args !== undefined)
    .sort((a, b) => Number(a.timestamp) - Number(b.timestamp))
    .at(-1);
  const sent = events.filter((event) => event.type === 'task-sent').at(-1);
  const retries = [...events, ...metas]
    .map((item) => item.retries)
    .filter((count) => typeof count === 'number');
  return {
    name: isNamed ? (task.replaced_by ?? task.name) : null,
    state,
    worker: (byWorker.at(-1)?.hostname ?? startedBy(metas) ?? meta?.worker ?? null) as string | null,
    queue: (sent?.queue ?? meta?.queue ?? null) as string | null,
    retries: retries.length > 0 ? Math.max(...retries) : null,
    args: opening?.args as string | undefined,
    kwargs: opening?.kwargs as string | undefined,
    eta: typeof opening?.eta === 'string' ? Date.parse(opening.eta.replace(/(?:\+00:00)?$/, 'Z')) : null,
    sent: time('task-sent'),
    received,
    started: started === undefined ? (metas.length > 0 ? undefined : null) : Number(started.timestamp) * 1000,
    finished: finishedAt(end, stored),
    runtime: (end?.runtime ?? runTimeOf(started, finishedAt(end, stored))) as number | null,
    result: resultStart(task, state, end, recording.hasResults),
    parent: isPlaced ? relative(task, task.parent) : [(meta?.parent_id ?? null) as string | null],
    root: isPlaced ? relative(task, task.root) : [null],
  };
}

/** Every published message counts; without any, nothing is known. */
function stateOf(task: Truth, recording: Recording, isTold: boolean): string | null {
  if (!isTold) return null;
  // A task that was rejected and not requeued is over, though Celery's own view says STARTED.
  if (task.case === 'reject') return 'REJECTED';
  return recording.hasResults ? task.expected_state : task.celery_event_state;
}

function finishedAt(
  end: Record<string, unknown> | undefined,
  stored: Record<string, unknown> | undefined,
): number | null {
  if (end !== undefined) return Number(end.timestamp) * 1000;
  return stored === undefined ? null : Date.parse(`${String(stored.date_done).replace(/\+00:00$/, '')}Z`);
}

/** In whole milliseconds, as times are shown. */
function runTimeOf(started: Record<string, unknown> | undefined, finished: number | null): number | null {
  if (started === undefined || finished === null) return null;
  return (Math.floor(finished) - Math.floor(Number(started.timestamp) * 1000)) / 1000;
}

function startedBy(metas: Record<string, unknown>[]): unknown {
  const started = metas.filter((meta) => meta.status === 'STARTED').at(-1)?.result;
  return (started as { hostname?: unknown } | undefined)?.hostname;
}

/** The event's text; where it was cut or never came, the whole value as the client's Python shows it. */
function resultStart(
  task: Truth,
  state: string | null,
  end: Record<string, unknown> | undefined,
  hasResults: boolean,
): string | null {
  if (state !== 'SUCCESS') return null;
  const text = typeof end?.result === 'string' ? end.result : null;
  if (!hasResults || (text !== null && !text.includes('...'))) return text;
  return task.client_result === 'None' || task.no_backend === true ? null : (task.client_result ?? null);
}

/** A chord's body names the header task that ended last, which the client does not know. */
function relative(task: Truth, id: string | null): readonly (string | null)[] {
  if (id === '__one_of_header__') return task.header ?? [];
  return [id];
}

/** Where a task belongs. */
export interface Placed {
  readonly id: string;
  /** Its case and role within the run. */
  readonly label: string;
  readonly parent: string | null;
  readonly root: string | null;
  readonly group: string | null;
  readonly chord: string | null;
}

/**
 * Where every task of a recording belongs: as the client knows, and where it cannot know, as the worker
 * saw when it ran the task. A body that never ran belongs to no header task yet.
 */
export function lineageOf({ tasks }: Recording): Placed[] {
  return tasks.map((task) => {
    const [first] = task.worker_ctx;
    const parent = task.parent?.startsWith('__') === true ? (first?.parent_id ?? null) : task.parent;
    return {
      id: task.id,
      label: `${task.case} ${task.role}`,
      parent: parent === task.id ? null : parent,
      root: task.root.startsWith('__') ? (first?.root_id ?? null) : task.root,
      group: task.group?.startsWith('__') === true ? (first?.group ?? null) : task.group,
      chord: task.chord_body ?? null,
    };
  });
}
