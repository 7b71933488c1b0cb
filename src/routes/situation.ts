/** Reads the parts of a source: each once for all that show or judge it at the same time. */
import { isMonitorError } from '../errors.ts';
import type {
  CheckedPart,
  CheckOutcome,
  JudgedQueue,
  JudgedWorker,
  Known,
  SourceSituation,
} from '../findings/finding.ts';
import { readItems } from '../http/answer-body.ts';
import type { Monitor } from '../http/monitor.ts';
import type { Component } from '../model.ts';
import { PART_NAMES } from '../options/sources.ts';
import { errorOf, freshnessOf } from '../read.ts';
import { type Steps, scheduler, type Waiter } from '../scheduler.ts';
import { wellFormed, whole } from '../serialize/shown-values.ts';
import { partsOf } from '../source/combined-part.ts';
import type { Activity, Awaitable, MonitorSources, ReadContext, SourcePart } from '../source.ts';
import type { ComponentBody, ScheduleBody, SourceErrorCode } from '../wire.ts';

/** More workers, queues or schedules than any deployment has. */
const MOST_ITEMS = 10_000;
/** More components than any source has. */
const MOST_COMPONENTS = 1_000;

/** The parts of one source. */
export type Parts = Omit<MonitorSources, 'redact' | 'close'>;

/** The sources of a monitor by name, each with its own parts. A combination is several sources. */
export function partsByName(given: MonitorSources): Map<string, Parts> {
  const sources = new Map<string, { -readonly [Kind in keyof Parts]: SourcePart }>();
  for (const kind of PART_NAMES) {
    const part: SourcePart | undefined = given[kind];
    for (const one of part === undefined ? [] : partsOf(part)) {
      const parts = sources.get(one.name) ?? {};
      parts[kind] = one;
      sources.set(one.name, parts);
    }
  }
  return sources as Map<string, Parts>;
}

/** Reads of one source, and why some of them failed. */
export interface SourceReads {
  readonly monitor: Monitor;
  readonly name: string;
  readonly failures: SourceErrorCode[];
  /** Equal reads with the same key are shared. Those of `running` and `waiting` have time limits of their own. */
  readonly key: 'findings' | 'running' | 'waiting';
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
    readActivity(reads, parts.experimental),
  ]);
  const { error, asOf } = freshnessIn(monitor, parts);
  // Too much work for the monitor is no fault of the source.
  const failure = reads.failures.find((code) => code !== 'overloaded');
  return {
    name,
    error: error ?? failure ?? null,
    asOf,
    hasTasks: parts.tasks !== undefined,
    activity,
    workers: shownOf(workers),
    queues: shownOf(queues),
    schedules: shownOf(schedules),
    components: Object.fromEntries(components?.shown ?? []),
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
      // There is at most one of each part at a time, so the limit on concurrent reads need not apply.
      urgent: true,
      read: (context) => ask(part, context),
      map: (raw, _result, waiter: Waiter) => scheduler.run(key, show(raw), waiter),
    });
  } catch (error) {
    if (!isMonitorError(error)) throw error;
    failures.push(error.code as SourceErrorCode);
    return null;
  }
}

/** The items of a list that can be read. */
export interface Rows<Row> {
  readonly shown: readonly Row[];
  /** Number of the others, and of those beyond the limit. */
  readonly unreadable: number;
}

/** @param make converts an item; `null`: it cannot be read */
export function* rowsOf<Item, Row>(
  { name }: SourceReads,
  list: unknown,
  make: (item: Item) => Row | null,
  most = MOST_ITEMS,
): Steps<Rows<Row>> {
  const { shown, unreadable } = yield* readItems<Item, Row>(list, most, () => name, make);
  return { shown, unreadable: unreadable.get(name) ?? 0 };
}

/** The rows alone, if they are known. */
export function shownOf<Row>(rows: Known<Rows<Row>>): Known<readonly Row[]> {
  return rows === null ? null : rows?.shown;
}

/** A part with a method that lists its items. */
type Lister<Call extends string, Item> = SourcePart & {
  readonly [Name in Call]: (context: ReadContext) => Awaitable<readonly Item[] | null>;
};

/** Reads a list; `undefined`: there is none. @param make as in {@link rowsOf} */
function readList<Call extends string, Item, Row>(
  reads: SourceReads,
  part: Lister<Call, Item> | undefined,
  call: Call,
  make: (item: Item) => Row | null,
  most?: number,
): Promise<Known<Rows<Row>>> {
  return readPart(
    reads,
    part,
    call,
    (one, context) => one[call](context),
    function* (list) {
      // Only of schedules: this deployment runs no beat.
      if (list === null && call === 'listSchedules') return undefined;
      return yield* rowsOf(reads, list, make, most);
    },
  );
}

export function readWorkers(reads: SourceReads, part: Parts['workers']): Promise<Known<Rows<JudgedWorker>>> {
  const { serializer } = reads.monitor;
  return readList(reads, part, 'listWorkers', (worker) => {
    const body = serializer.worker(worker, reads.name, new Date());
    return body === null ? null : { ...body, rateLimits: worker.rateLimits ?? null };
  });
}

export function readQueues(reads: SourceReads, part: Parts['queues']): Promise<Known<Rows<JudgedQueue>>> {
  const { serializer } = reads.monitor;
  return readList(reads, part, 'listQueues', (queue) => {
    const body = serializer.queue(queue, reads.name, new Date());
    if (body === null) return null;
    // The body has its age in whole seconds, from which no time follows that stays the same.
    return {
      ...body,
      oldestDueAt: body.oldest_due_seconds === null ? null : Number(queue.oldestDueAt),
      concurrencyLimit: whole(queue.concurrencyLimit),
      limiter: queue.limiter ?? null,
    };
  });
}

function readSchedules(reads: SourceReads, part: Parts['schedules']): Promise<Known<Rows<ScheduleBody>>> {
  const { serializer } = reads.monitor;
  return readList(reads, part, 'listSchedules', (entry) => serializer.schedule(entry, reads.name));
}

export type KeyedComponent = readonly [key: string, body: ComponentBody];

export function readComponents(
  reads: SourceReads,
  part: Parts['components'],
): Promise<Known<Rows<KeyedComponent>>> {
  const { serializer } = reads.monitor;
  const keyed = (component: Component): KeyedComponent | null => {
    const body = serializer.component(component);
    return body === null ? null : [wellFormed(component.key), body];
  };
  return readList(reads, part, 'listComponents', keyed, MOST_COMPONENTS);
}

export function readActivity(reads: SourceReads, part: Parts['experimental']): Promise<Known<Activity>> {
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
