import { isMonitorError, type MonitorErrorCode } from '../errors.ts';
import { type MonitorRequest, mountPathOf } from '../http/exchange.ts';
import type { Monitor } from '../http/monitor.ts';
import { readItems } from '../http/response-body.ts';
import { defineRoute } from '../http/route.ts';
import { type Document, sendDocument, tagOf } from '../http/send.ts';
import type { Component, Queue } from '../model.ts';
import { errorOf, freshnessOf, type ReadResult } from '../read.ts';
import { type Steps, scheduler } from '../scheduler.ts';
import { wellFormed } from '../serialize/scalars.ts';
import { partsOf } from '../source/combined-part.ts';
import type { ComponentSource, HistoryStats, ReadContext } from '../source.ts';
import type { ComponentBody, ComponentsBody, QueueBody, SourceErrorCode } from '../wire.ts';
import { findingsOf, stableFindings } from './findings-component.ts';
import { describeMetrics } from './metrics-component.ts';
import { VERSION } from './version.ts';

type Entries = readonly (readonly [key: string, body: ComponentBody])[];

/** `GET /api/components/`: the components of the library itself and those of its sources. */
export const components = defineRoute({
  name: 'components',
  path: '/api/components/',
  summary: 'Parts of the deployment: status, process id, URL and settings',
  query: {},
  body: 'ComponentsBody',
  errors: [],
  cached: true,
  open(monitor) {
    const { components: part } = monitor.sources;
    const readers = (part === undefined ? [] : partsOf(part)).map((one) => componentReader(monitor, one));
    const readQueues = createQueuesComponent(monitor);
    const readFindings = findingsOf(monitor);
    const make = async (): Promise<Made> => {
      const [metrics, beat, history, queues, findings, others] = await Promise.all([
        describeMetrics(monitor),
        describeBeat(monitor),
        describeHistory(monitor),
        readQueues(),
        readFindings().then(({ component }) => component),
        Promise.all(readers.map((read) => read())),
      ]);
      return {
        own: { metrics, beat, history, queues, findings },
        others: others.flat(),
        documents: new Map(),
      };
    };
    const share = shareBursts(make);
    return () => async (request, response) => {
      await sendDocument(request, response, documentOf(await share(), describeWeb(monitor, request)));
    };
  },
});

/** The components of all sources, for several requests. */
interface Made {
  readonly own: Readonly<Record<'metrics' | 'beat' | 'history' | 'queues' | 'findings', ComponentBody>>;
  readonly others: Entries;
  /** By the URL of the router: Express may mount it at several paths. */
  readonly documents: Map<string | null, Document>;
}

/** Within this time, in milliseconds, this many requests are answered afresh. The others share the latest answer. */
const BURST_MS = 100;
const ANEW = 3;

/** However many clients request them at once, the components are read and written only a few times. */
function shareBursts(make: () => Promise<Made>): () => Promise<Made> {
  let latest: Promise<Made> | null = null;
  let begin = Number.NEGATIVE_INFINITY;
  let count = 0;
  return () => {
    const now = performance.now();
    if (now - begin >= BURST_MS) {
      begin = now;
      count = 0;
    }
    count += 1;
    if (latest === null || count <= ANEW) latest = make();
    return latest;
  };
}

function documentOf({ own, others, documents }: Made, web: ComponentBody): Document {
  const known = documents.get(web.url);
  if (known !== undefined) return known;
  // Sources choose the keys: without a prototype, `__proto__` is a plain key.
  const body: ComponentsBody = Object.assign(Object.create(null), { web }, own);
  for (const [key, component] of others) body[key] = component;
  const { queues, findings } = own;
  const document = {
    body: Buffer.from(JSON.stringify(body)),
    etag: tagOf(
      JSON.stringify({ ...body, queues: stableQueues(queues), findings: stableFindings(findings) }),
    ),
  };
  documents.set(web.url, document);
  return document;
}

function describeWeb({ options }: Monitor, request: MonitorRequest): ComponentBody {
  return {
    name: 'web',
    enabled: true,
    status: 'up',
    pid: process.pid,
    url: options.publicUrl ?? (mountPathOf(request) || '/'),
    config: { version: VERSION, node: process.versions.node },
  };
}

/** The status is unknown: readable schedules do not prove that a beat process is running. */
async function describeBeat(monitor: Monitor): Promise<ComponentBody> {
  const enabled = await hasBeat(monitor);
  return {
    name: 'beat',
    enabled,
    status: enabled ? 'unknown' : 'disabled',
    pid: null,
    url: null,
    config: null,
  };
}

async function hasBeat({ sources, reader }: Monitor): Promise<boolean> {
  const part = sources.schedules;
  if (part === undefined) return false;
  try {
    const read = (context: ReadContext) => part.listSchedules(context);
    const map = (list: unknown): boolean => list !== null;
    return await reader.read({ part, call: 'listSchedules', key: 'beat', read, map });
  } catch (error) {
    if (!isMonitorError(error)) throw error;
    return true;
  }
}

async function describeHistory(monitor: Monitor): Promise<ComponentBody> {
  const part = monitor.sources.history;
  const body: ComponentBody = {
    name: 'history',
    enabled: part !== undefined,
    status: 'disabled',
    pid: null,
    url: null,
    config: { unreadable: monitor.unreadable() },
  };
  if (part === undefined) return body;
  try {
    const { stats, failures } = await monitor.reader.read({
      part,
      call: 'getHistoryStats',
      key: '',
      read: (context) => part.getHistoryStats(context),
      map: (raw, result) => ({ stats: readHistory(raw), failures: result.failures }),
    });
    const isUp = errorOf(freshnessOf(part, Date.now(), monitor.report)) === null;
    // Some sources have answered and others have failed.
    const [failure] = failures.values();
    const status = failure === undefined ? (isUp ? 'up' : 'down') : 'unknown';
    const error = failure === undefined ? {} : { error: failure.code };
    return { ...body, status, config: { ...stats, ...error, ...body.config } };
  } catch (error) {
    if (!isMonitorError(error)) throw error;
    return { ...body, status: 'unknown', config: { error: error.code, ...body.config } };
  }
}

function readHistory(stats: HistoryStats): Readonly<Record<string, string | number | null>> {
  if (typeof stats.tasks !== 'number')
    throw new TypeError('getHistoryStats() must return { tasks: number, … }.');
  const count = (value: unknown): number | null =>
    typeof value === 'number' && Number.isFinite(value) ? value : null;
  const { since } = stats;
  return {
    tasks: count(stats.tasks),
    workers: count(stats.workers),
    events: count(stats.events),
    since: since instanceof Date && !Number.isNaN(since.getTime()) ? since.toISOString() : null,
    evicted: count(stats.evicted),
    bytes: count(stats.bytes),
    events_received: count(stats.eventsReceived),
    dropped: count(stats.dropped),
    lag_seconds: count(stats.lagSeconds),
  };
}

// More components than any deployment has.
const MOST_COMPONENTS = 1_000;

/** Reads the components of one source. In an outage its last components stay listed with the status `unknown`. */
function componentReader(monitor: Monitor, part: ComponentSource): () => Promise<Entries> {
  let last: Entries = [];

  return async () => {
    try {
      last = await monitor.reader.read({
        part,
        call: 'listComponents',
        key: '',
        read: (context) => part.listComponents(context),
        map: (list) => readList(monitor, part, list),
      });
      return last;
    } catch (error) {
      if (!isMonitorError(error)) throw error;
      const source: ComponentBody = {
        name: part.name,
        enabled: true,
        status: 'down',
        pid: null,
        url: null,
        config: { error: error.code },
      };
      return [
        [`${part.name}.source`, source],
        ...last.map(([key, body]) => [key, { ...body, status: 'unknown' }] as const),
      ];
    }
  };
}

function readList(monitor: Monitor, part: ComponentSource, list: readonly Component[]): Entries {
  if (!Array.isArray(list)) throw new TypeError('listComponents() must return an array.');
  const entries: (readonly [string, ComponentBody])[] = [];
  let unreadable = Math.max(0, list.length - MOST_COMPONENTS);
  for (const component of list.slice(0, MOST_COMPONENTS)) {
    const body = monitor.serializer.component(component);
    if (body === null) unreadable += 1;
    else entries.push([`${part.name}.${wellFormed(component.key)}`, body]);
  }
  if (unreadable > 0) monitor.countUnreadable(part, 'listComponents', unreadable);
  return entries;
}

// More queues than any deployment has.
const MOST_QUEUES = 10_000;

/** Creates the reader of the component. In an outage the last queues stay listed, with status `down` and the error. */
function createQueuesComponent(monitor: Monitor): () => Promise<ComponentBody> {
  const part = monitor.sources.queues;
  let last: QueueBody[] = [];

  function component(status: ComponentBody['status'], error: MonitorErrorCode | null): ComponentBody {
    const config = error === null ? null : { error };
    return {
      name: 'queues',
      enabled: part !== undefined,
      status,
      pid: null,
      url: null,
      config,
      queues: last,
    };
  }

  /** @returns the error of a source that failed while others answered */
  function* show(list: unknown, { sourceOf, failures }: ReadResult): Steps<SourceErrorCode | null> {
    const now = new Date();
    const { shown, unreadable } = yield* readItems<Queue, QueueBody>(list, MOST_QUEUES, sourceOf, (queue) =>
      monitor.serializer.queue(queue, sourceOf(queue), now),
    );
    for (const [name, count] of unreadable) monitor.countUnreadable({ name }, 'listQueues', count);
    last = shown.sort(bySourceAndName);
    return [...failures.values()].at(0)?.code ?? null;
  }

  return async () => {
    if (part === undefined) return component('disabled', null);
    try {
      const failed = await monitor.reader.read({
        part,
        call: 'listQueues',
        key: '',
        keepsLast: true,
        read: (context) => part.listQueues(context),
        map: (list, result, waiter) => scheduler.run('answer', show(list, result), waiter),
      });
      // Some sources have answered and another has failed.
      if (failed !== null) return component('unknown', failed);
      const away = errorOf(freshnessOf(part, Date.now(), monitor.report));
      return component(away === null ? 'up' : 'down', away);
    } catch (error) {
      if (!isMonitorError(error)) throw error;
      return component('down', error.code);
    }
  };
}

function bySourceAndName(a: QueueBody, b: QueueBody): number {
  return compareText(a.source, b.source) || compareText(a.name, b.name);
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The component without the fields that change only with time, for the ETag. */
function stableQueues({ queues, ...component }: ComponentBody): object {
  return {
    ...component,
    queues: queues?.map((queue) => ({ ...queue, oldest_due_seconds: null, as_of: null })),
  };
}
