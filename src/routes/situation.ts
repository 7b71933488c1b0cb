/** Reads the data that the rules judge. */
import { isMonitorError } from '../errors.ts';
import type { CheckedPart, CheckOutcome, JudgedQueue, Known, SourceSituation } from '../findings/finding.ts';
import type { Monitor } from '../http/monitor.ts';
import { readItems } from '../http/response-body.ts';
import type { Component, Queue, Schedule, Worker } from '../model.ts';
import { errorOf, freshnessOf } from '../read.ts';
import { type Steps, scheduler, type Waiter } from '../scheduler.ts';
import { partsOf } from '../source/combined-part.ts';
import type { Activity, Awaitable, MonitorSources, ReadContext, SourcePart } from '../source.ts';
import type { ComponentBody, ScheduleBody, SourceErrorCode, WorkerBody } from '../wire.ts';

/** More workers, queues or schedules than any deployment has. */
const MOST_ITEMS = 10_000;
/** More components of interest than any source has. */
const MOST_COMPONENTS = 100;

/** The parts of one source. */
export type Parts = Omit<MonitorSources, 'close'>;

/** The sources of a monitor by name, each with its own parts. A combination is several sources. */
export function partsByName({ close: _close, ...kinds }: MonitorSources): Map<string, Parts> {
  const sources = new Map<string, Record<string, SourcePart>>();
  for (const [kind, part] of Object.entries(kinds) as [string, SourcePart | undefined][]) {
    for (const one of part === undefined ? [] : partsOf(part)) {
      const parts = sources.get(one.name) ?? {};
      parts[kind] = one;
      sources.set(one.name, parts);
    }
  }
  return sources;
}

/** Reads of one source, and why some of them failed. */
export interface SourceReads {
  readonly monitor: Monitor;
  readonly name: string;
  readonly failures: SourceErrorCode[];
  /** Purpose of the reads: reads for the same purpose are shared. */
  readonly key: 'findings' | 'running';
  /** Time limit of each read in milliseconds. Default: that of the reader. */
  readonly timeoutMs?: number;
}

/** Reads all data of one source for the rules. A part that failed is `null`; `error` says why. */
export async function readSituation(monitor: Monitor, name: string, parts: Parts): Promise<SourceSituation> {
  const reads: SourceReads = { monitor, name, failures: [], key: 'findings' };
  const [broker, backend, alive, workers, queues, schedules, components, activity] = await Promise.all([
    readCheck(reads, parts.health, 'broker'),
    readCheck(reads, parts.health, 'backend'),
    readCheck(reads, parts.health, 'workers'),
    readWorkers(reads, parts.workers),
    readQueues(reads, parts.queues),
    readSchedules(reads, parts.schedules),
    readComponents(reads, parts.components),
    readActivity(reads, parts.tasks),
  ]);
  const { error, asOf } = freshnessIn(monitor, parts);
  return {
    name,
    error: error ?? reads.failures[0] ?? null,
    asOf,
    hasTasks: parts.tasks !== undefined,
    activity,
    workers,
    queues,
    schedules,
    components: Object.fromEntries(components ?? []),
    checks: { broker, backend, workers: alive },
  };
}

/** @param show converts what was read */
export async function readPart<Part extends SourcePart, Raw, Result>(
  { monitor, failures, key, timeoutMs }: SourceReads,
  part: Part | undefined,
  call: string,
  ask: (part: Part, context: ReadContext) => Awaitable<Raw>,
  show: (raw: Raw) => Steps<Result>,
): Promise<Known<Result>> {
  if (part === undefined) return undefined;
  try {
    return await monitor.reader.read<Raw, Result>({
      part,
      call,
      key,
      ...(timeoutMs !== undefined && { timeoutMs }),
      // It happens once in several seconds, so the limit on concurrent reads need not apply.
      urgent: true,
      read: (context) => ask(part, context),
      map: (raw, _result, waiter: Waiter) => scheduler.run(key, show(raw), waiter),
    });
  } catch (error) {
    if (!isMonitorError(error)) throw error;
    if (error.code !== 'overloaded') failures.push(error.code as SourceErrorCode);
    return null;
  }
}

/** The readable items of a list, as bodies. */
export function* bodiesOf<Item, Body>(
  { name }: SourceReads,
  list: unknown,
  make: (item: Item) => Body | null,
  most = MOST_ITEMS,
): Steps<readonly Body[]> {
  return (yield* readItems<Item, Body>(list, most, () => name, make)).shown;
}

function readWorkers(reads: SourceReads, part: Parts['workers']): Promise<Known<readonly WorkerBody[]>> {
  const { serializer } = reads.monitor;
  const now = new Date();
  return readPart(
    reads,
    part,
    'listWorkers',
    (one, context) => one.listWorkers(context),
    (list) => bodiesOf(reads, list, (worker: Worker) => serializer.worker(worker, reads.name, now)),
  );
}

export function readQueues(
  reads: SourceReads,
  part: Parts['queues'],
): Promise<Known<readonly JudgedQueue[]>> {
  const { serializer } = reads.monitor;
  const now = new Date();
  // The body has its age in whole seconds, from which no time follows that stays the same.
  const judged = (queue: Queue): JudgedQueue | null => {
    const body = serializer.queue(queue, reads.name, now);
    if (body === null) return null;
    return { ...body, oldestDueAt: body.oldest_due_seconds === null ? null : Number(queue.oldestDueAt) };
  };
  return readPart(
    reads,
    part,
    'listQueues',
    (one, context) => one.listQueues(context),
    (list) => bodiesOf(reads, list, judged),
  );
}

function readSchedules(
  reads: SourceReads,
  part: Parts['schedules'],
): Promise<Known<readonly ScheduleBody[]>> {
  const { serializer } = reads.monitor;
  return readPart(
    reads,
    part,
    'listSchedules',
    (one, context) => one.listSchedules(context),
    function* (list) {
      if (list === null) return undefined;
      return yield* bodiesOf(reads, list, (entry: Schedule) => serializer.schedule(entry, reads.name));
    },
  );
}

function readComponents(
  reads: SourceReads,
  part: Parts['components'],
): Promise<Known<readonly (readonly [string, ComponentBody])[]>> {
  const { serializer } = reads.monitor;
  const keyed = (component: Component): readonly [string, ComponentBody] | null => {
    const body = serializer.component(component);
    return body === null ? null : [String(component.key), body];
  };
  return readPart(
    reads,
    part,
    'listComponents',
    (one, context) => one.listComponents(context),
    (list) => bodiesOf(reads, list, keyed, MOST_COMPONENTS),
  );
}

export function readActivity(reads: SourceReads, part: Parts['tasks']): Promise<Known<Activity>> {
  return readPart(
    reads,
    part?.getActivity === undefined ? undefined : part,
    'getActivity',
    (one, context) => one.getActivity?.(context),
    function* (raw) {
      yield;
      if (typeof raw !== 'object' || raw === null || !Array.isArray(raw.open?.running)) {
        throw new TypeError('getActivity() must return { since, blind, counts, open, silent }.');
      }
      return raw;
    },
  );
}

const CALLS = { broker: 'checkBroker', backend: 'checkBackend', workers: 'checkWorkers' } as const;

/** Without a configured check, the outcome is `null`. */
async function readCheck(
  reads: SourceReads,
  part: Parts['health'],
  which: CheckedPart,
): Promise<CheckOutcome> {
  const given = await readPart(
    reads,
    part?.[CALLS[which]] === undefined ? undefined : part,
    CALLS[which],
    (one, context): Awaitable<unknown> =>
      which === 'workers' ? one.checkWorkers?.({ ...context, ping: false }) : one[CALLS[which]]?.(context),
    function* (raw) {
      yield;
      return raw as { readonly ok?: unknown; readonly error?: unknown } | null;
    },
  );
  const error = typeof given?.error === 'string' ? reads.monitor.serializer.sentence(given.error) : null;
  return { ok: typeof given?.ok === 'boolean' ? given.ok : null, error };
}

/** The freshness of the tasks; without tasks, that of the first stale part. */
function freshnessIn(monitor: Monitor, { tasks, ...others }: Parts) {
  const parts = tasks === undefined ? (Object.values(others) as SourcePart[]) : [tasks];
  for (const part of parts) {
    const freshness = freshnessOf(part, Date.now(), monitor.report);
    const error = errorOf(freshness);
    if (error !== null) return { error, asOf: freshness.sources[0]?.asOf ?? null };
  }
  return { error: null, asOf: null };
}
