/** A whole Celery source on a broker and a result backend made of arrays: raw messages go in, answers come out. */
import { onTestFinished, vi } from 'vitest';
import type { CelerySettings } from '../../src/celery.ts';
import type { Schedule, TaskDetail, TaskTree } from '../../src/model.ts';
import { type CelerySourceOptions, createCelerySource } from '../../src/sources/celery/celery-source.ts';
import { componentOf, context } from '../helpers/celery-events.ts';
import { type ArrayBroker, createArrayBroker } from './array-broker.ts';
import { type ArrayResultBackend, createArrayResultBackend } from './array-result-backend.ts';

/** The recordings are older than any retention by the time somebody runs this. */
export const LONG = { taskDays: 36_500 };

/** What a deployment has, and how it is read. */
export interface ArrayDeploymentOptions extends Partial<Omit<CelerySourceOptions, 'broker' | 'backend'>> {
  /** What each worker replies, by node name and command. It may change later. Default: there is no worker. */
  readonly workers?: Record<string, Record<string, unknown>>;
  /** Whether there is a broker. Default true. */
  readonly hasBroker?: boolean;
  /** Whether there is a result backend that can be read. Default true. */
  readonly hasBackend?: boolean;
  /** Changes the broker. */
  readonly broker?: (broker: ArrayBroker) => ArrayBroker;
  /** Changes the result backend. */
  readonly backend?: (backend: ArrayResultBackend) => ArrayResultBackend;
}

type Sources = ReturnType<typeof createCelerySource>;

/** A deployment that a test plays. */
export interface ArrayDeployment {
  readonly sources: Sources;
  readonly broker: ArrayBroker;
  /** Messages that wait. They may change. */
  readonly waiting: { queue: string; raw: string }[];
  /** Results that are stored. They may change. */
  readonly stored: { id: string; text: string; isCut: boolean }[];
  /** Publishes events, each in a message of its own. */
  hear(...events: readonly object[]): void;
  /** Publishes the result of a task: Celery's own JSON, or what to write in it. */
  publish(id: string, meta: object | string): void;
  /** Publishes a group. */
  publishGroup(id: string, text: string): void;
  /** Publishes how many header tasks a chord has. */
  /** Loses published results, perhaps. */
  missResults(): void;
  task(id: string): Promise<TaskDetail | null>;
  tree(id: string): Promise<TaskTree | null>;
  schedules(): Promise<Schedule[] | null>;
  component(key: string): ReturnType<typeof componentOf>;
}

/** Opens a source, which ends with the test. */
export function openArrayDeployment(options: ArrayDeploymentOptions = {}): ArrayDeployment {
  const { workers = {}, hasBroker = true, hasBackend = true, broker: changed, ...given } = options;
  const waiting: ArrayDeployment['waiting'] = [];
  const stored: ArrayDeployment['stored'] = [];
  const plainBroker = createArrayBroker({ events: [], waiting, workers });
  const broker = changed?.(plainBroker) ?? plainBroker;
  const plainBackend = createArrayResultBackend({ published: [], tasks: stored, groups: [] });
  const backend = options.backend?.(plainBackend) ?? plainBackend;
  const settings: CelerySettings = {};
  const sources = createCelerySource({
    ...{ name: 'celery', settings, broker: hasBroker ? broker : null },
    ...{ foreignBroker: null, foreignBackend: null, django: null },
    redbeat: { reader: null, unreadable: null },
    ...{ control: true, enableEvents: false, readResults: true, retention: {} },
    closeConnections: async () => {},
    ...given,
    backend: hasBackend ? backend : null,
  });
  onTestFinished(() => sources.close());
  return {
    ...{ sources, broker, waiting, stored },
    hear: (...events) => broker.deliver(...events),
    publish: (id, meta) => backend.listener()?.task(typeof meta === 'string' ? meta : metaOf(id, meta), id),
    publishGroup: (id, text) => backend.listener()?.group(text, id),
    missResults: () => backend.listener()?.lost(),
    task: async (id) => await sources.tasks.getTask(id, context),
    tree: async (id) => (await sources.tasks.getTaskTree?.(id, context)) ?? null,
    schedules: async () => [...((await sources.schedules.listSchedules(context)) ?? [])],
    component: (key) => componentOf(sources, key),
  };
}

/** A stored result as Celery's backend writes it. */
export function metaOf(id: string, changes: object = {}): string {
  const whole = {
    ...{ status: 'SUCCESS', result: 4, traceback: null, children: [] },
    ...{ date_done: '2026-11-21T02:55:13.177793', task_id: id },
    ...changes,
  };
  return JSON.stringify(whole).replaceAll('":', '": ').replaceAll(',"', ', "');
}

/** A message as a client puts it in a queue. */
export function waitingMessage(id: string, headers: object = {}, embed: object = {}): string {
  const plain = { callbacks: null, errbacks: null, chain: null, chord: null, ...embed };
  const body = Buffer.from(JSON.stringify([[], {}, plain]).replaceAll('":', '": ').replaceAll(',"', ', "'));
  const all = { lang: 'py', task: 'shop.add', id, root_id: id, parent_id: null, group: null, retries: 0 };
  return JSON.stringify({
    body: body.toString('base64'),
    'content-encoding': 'utf-8',
    'content-type': 'application/json',
    headers: { ...all, eta: null, expires: null, argsrepr: '()', kwargsrepr: '{}', ...headers },
    properties: { delivery_info: {}, body_encoding: 'base64', delivery_tag: `tag-${id}` },
  })
    .replace('{"body":"', '{"body": "')
    .replace('","content-encoding"', '", "content-encoding"');
}

/** Lets timers wait for {@link pass}: all but `setImmediate`, which the source's own work needs. */
export function holdTime(now: number): void {
  vi.useFakeTimers({ now, toFake: ['Date', 'setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  const monotonic = vi.spyOn(performance, 'now').mockImplementation(() => Date.now() - now);
  onTestFinished(() => {
    monotonic.mockRestore();
    vi.useRealTimers();
  });
}

/** Lets time pass, a second at a time, and what happens in it. */
export async function pass(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 1_000) {
    await vi.advanceTimersByTimeAsync(Math.min(left, 1_000));
    for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }
}
