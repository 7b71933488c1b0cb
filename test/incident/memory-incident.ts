/** The incident on `memorySources`: three hours of a shop, recorded in seconds by a clock of its own. */

import type { MonitorOptions } from '../../src/index.ts';
import {
  type MemoryQueueRecord,
  type MemoryRecord,
  type MemorySources,
  memorySources,
} from '../../src/memory.ts';
import type { Schedule } from '../../src/model.ts';
import { type Facts, p95 } from './facts.ts';
import { type Story, tellStory } from './story.ts';

const MINUTE = 60_000;
const SECOND = 1_000;
/** Long enough for a worker to stay online while a browser starts on a busy machine. */
const HEARTBEAT_SECONDS = 3_600;

/** Something to record, and when. */
interface Step {
  readonly at: number;
  readonly record: MemoryRecord;
}

/** One task from its sending to its end. */
interface Run extends Partial<MemoryRecord> {
  readonly id: string;
  readonly name: string;
  readonly at: number;
  /** `null`: it still runs. */
  readonly seconds: number | null;
}

/** Records the incident, and returns what a router takes. */
export function playOnMemory(): { readonly facts: Facts; readonly options: MonitorOptions } {
  const story = tellStory(Date.now());
  let clock: number | null = story.begun;
  const queue = memorySources({
    name: 'shop',
    ...{ schedules: () => [scheduleOf(story)], now: () => clock ?? Date.now() },
  });
  const steps = stepsOf(story).sort((a, b) => a.at - b.at);
  const depth = createDepth(story);
  for (const { at, record } of steps) {
    clock = at;
    queue.record({ ...record, timestamp: at });
    queue.recordQueue(depth.after(at, record));
  }
  clock = null;
  queue.recordQueue(depth.now());
  for (const hostname of ['w1@shop', story.worker, 'w3@shop']) addWorker(queue, hostname, story);
  const options: MonitorOptions = {
    sources: queue,
    authorize: false,
    markers: () => [{ at: new Date(story.deploy), text: story.marker, url: null }],
  };
  return { facts: factsOf(story, steps, depth.waiting()), options };
}

/** Counts what waits in the queue that backs up. */
function createDepth({ queue }: Story) {
  const since = new Map<string, number>();
  const now = (): MemoryQueueRecord => ({
    ...{ queue, waiting: since.size },
    oldestDueAt: since.values().next().value ?? null,
  });
  return {
    now,
    waiting: (): ReadonlyMap<string, number> => since,
    after(at: number, { id, state, queue: name }: MemoryRecord): MemoryQueueRecord {
      if (name === queue && state === 'PENDING') since.set(id, at);
      else since.delete(id);
      return now();
    },
  };
}

function factsOf(story: Story, steps: readonly Step[], waiting: ReadonlyMap<string, number>): Facts {
  const { failing, worker, slots, hung, queue, deploy, order } = story;
  const failures: Record<string, number> = {};
  const runs = { before: [] as number[], after: [] as number[] };
  for (const { at, record } of steps) {
    if (record.state === 'FAILURE') {
      const { name } = record.error as Error;
      failures[name] = (failures[name] ?? 0) + 1;
    }
    if (record.name === story.slow && record.runtime != null) {
      runs[at < deploy ? 'before' : 'after'].push(record.runtime);
    }
  }
  const [cause] = story.causes;
  return {
    ...story,
    ...{ isShort: false, failures, waiting: waiting.size, dueSince: Math.min(...waiting.values()) },
    slowdown: p95(runs.after) / p95(runs.before),
    problems: [
      `${failing} fails`,
      `${worker}: ${slots} of ${slots} slots hold the same tasks`,
      `Queue ${queue}: oldest due`,
      `${waiting.size} tasks waiting`,
      `${slots} ${hung} tasks run for`,
    ],
    why: [`${cause?.exception}`, `${cause?.message} ${order}`],
    orderTasks: ['orders.place', failing, story.next],
    schedule: { ...story.schedule, runs: () => Promise.resolve(story.schedule.runs) },
  };
}

function addWorker(queue: MemorySources, hostname: string, { slots }: Story): void {
  queue.recordWorker({
    hostname,
    concurrency: slots,
    queues: hostname === 'w3@shop' ? ['default'] : ['default', 'video'],
    interval: HEARTBEAT_SECONDS,
  });
}

function scheduleOf({ schedule, deploy }: Story): Schedule {
  const last = deploy + 20 * MINUTE;
  return {
    ...{ id: 'hourly', name: schedule.name, task: schedule.task, schedule: '0 * * * * (m/h/dM/MY/d)' },
    enabled: true,
    lastRunAt: new Date(last),
    nextRunAt: new Date(last + 60 * MINUTE),
    lastRuns: Array.from({ length: schedule.runs }, (_, index) => ({
      taskId: `report-${schedule.runs - index}`,
      state: 'SUCCESS',
      at: new Date(last - index * 60 * MINUTE),
      runtime: 2,
    })),
  };
}

function stepsOf(story: Story): Step[] {
  const end = story.deploy + 39 * MINUTE;
  return [
    ...everyMinute(story.begun, end, 6, (at, id) => resize(story, at, id)),
    ...everyMinute(story.begun, end, 4, (at, id) => charge(story, at, id)),
    ...everyMinute(story.begun, end, 3, (at, id) => mail(story, at, id)),
    ...everyMinute(story.begun, end, 1, (at, id) => encode(story, at, id)),
    ...reports(story),
    ...orderOf(story),
  ];
}

/** So many tasks each minute, evenly spread. */
function everyMinute(
  from: number,
  to: number,
  perMinute: number,
  make: (at: number, index: number) => Step[],
): Step[] {
  const steps: Step[] = [];
  for (let index = 0; ; index++) {
    const at = from + (index * MINUTE) / perMinute;
    if (at >= to) return steps;
    steps.push(...make(at, index));
  }
}

/** A task that waits for 200 ms. Without `error` it succeeds. */
function run({ at, seconds, error, worker = 'w1@shop', ...task }: Run): Step[] {
  const common = { queue: 'default', ...task };
  const start = at + 200;
  const steps: Step[] = [
    { at, record: { ...common, state: 'PENDING' } },
    { at: at + 50, record: { ...common, worker, state: 'RECEIVED' } },
    { at: start, record: { ...common, worker, state: 'STARTED' } },
  ];
  if (seconds === null) return steps;
  const state = error === undefined ? 'SUCCESS' : 'FAILURE';
  const end = { ...common, worker, state, runtime: seconds, ...(error !== undefined && { error }) };
  return [...steps, { at: start + seconds * SECOND, record: end }];
}

/** About a tenth more or less, always the same. */
const spread = (index: number): number => 0.9 + ((index * 7) % 20) / 100;

function resize({ slow: name, deploy }: Story, at: number, index: number): Step[] {
  const seconds = (at < deploy ? 0.8 : 3.2) * spread(index);
  return run({ id: `resize-${index}`, name, args: [`p${index}.png`], at, seconds, worker: 'w3@shop' });
}

/** Since the deploy every fifth one fails: two of three because of the card, the others because of the gateway. */
function charge(story: Story, at: number, index: number): Step[] {
  const isFailed = at >= story.deploy && index % 5 === 0;
  const which = index % 15 === 10 ? 1 : 0;
  const error = isFailed ? { error: failureOf(story, which, 20_000 + index) } : {};
  const args = [20_000 + index, 'EUR'];
  return run({ id: `charge-${index}`, name: story.failing, args, at, seconds: spread(index), ...error });
}

/** An error as a Python worker reports it, with its traceback. */
function failureOf({ causes }: Story, which: number, order: number): Error {
  const { exception, message, frame } = causes[which] as Story['causes'][number];
  const text = which === 0 ? `${message} ${order}` : `${message} 10.0.0.${order % 200} after 30 s`;
  const error = Object.assign(new Error(text), { name: exception });
  error.stack = [
    'Traceback (most recent call last):',
    '  File "/app/shop/tasks.py", line 41, in charge',
    '    capture(order)',
    `  File "/app/shop/${frame}", line ${80 + which}, in capture`,
    `    raise ${exception}(text)`,
    `${exception}: ${text}`,
  ].join('\n');
  return error;
}

/** Nobody works the queue off any more. */
function mail({ queue, backingUpSince }: Story, at: number, index: number): Step[] {
  const task = { id: `mail-${index}`, name: 'mail.send', queue, args: [`u${index}@example.org`] };
  if (at >= backingUpSince) return [{ at, record: { ...task, state: 'PENDING' } }];
  return run({ ...task, at, seconds: 0.3 * spread(index) });
}

/** Four videos hang, which is as many as the worker has slots. */
function encode({ worker, hung: name, hungSince, slots }: Story, at: number, index: number): Step[] {
  const task = { id: `video-${index}`, name, queue: 'video', args: [`f${index}.mov`], worker, at };
  if (at < hungSince) return run({ ...task, seconds: 50 * spread(index) });
  return at < hungSince + slots * MINUTE ? run({ ...task, seconds: null }) : [];
}

function reports({ schedule, deploy }: Story): Step[] {
  return Array.from({ length: schedule.runs }, (_, index) => index + 1).flatMap((number) => {
    const at = deploy + 20 * MINUTE - (schedule.runs - number) * 60 * MINUTE;
    return run({ id: `report-${number}`, name: schedule.task, at, seconds: 2 });
  });
}

/** An order whose payment fails; its app then cancels it. */
function orderOf(story: Story): Step[] {
  const { order, failing, next, deploy } = story;
  const at = deploy + 30 * MINUTE;
  const root = `order-${order}`;
  const member = { rootId: root, parentId: root, args: [Number(order)] };
  return [
    ...run({ id: root, name: 'orders.place', args: [Number(order)], at, seconds: 0.4 }),
    ...run({
      ...{ ...member, id: `pay-${order}`, name: failing, at: at + SECOND, seconds: 1.5 },
      error: failureOf(story, 0, Number(order)),
    }),
    ...run({
      ...member,
      id: `cancel-${order}`,
      name: next,
      parentId: `pay-${order}`,
      at: at + 4 * SECOND,
      seconds: 0.2,
    }),
  ];
}
