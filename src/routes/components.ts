import type { JudgedQueue, Known } from '../findings/finding.ts';
import { keyOf } from '../http/document.ts';
import { type Document, sendDocument, sendPacked, tagOf } from '../http/exchange.ts';
import type { Monitor } from '../http/monitor.ts';
import { defineRoute } from '../http/route.ts';
import { errorOf, freshnessOf } from '../read.ts';
import { type Steps, scheduler } from '../scheduler.ts';
import { partsOf } from '../source/combined-part.ts';
import type { SourcePart } from '../source.ts';
import { compareText } from '../values.ts';
import type { ComponentBody, ComponentsBody, QueueBody, SourceErrorCode } from '../wire.ts';
import { type Added, OVERVIEW_QUERY, overviewOf } from './overview.ts';
import {
  describeBeat,
  describeHistory,
  describeMetrics,
  describeWeb,
  type Findings,
  findingsOf,
  ownComponent,
} from './own-components.ts';
import { type KeyedComponent, type Rows, readComponents, readQueues, type SourceReads } from './situation.ts';

/** `GET /api/components/`: the components of the library itself and those of its sources. */
export const components = defineRoute({
  name: 'components',
  path: '/api/components/',
  summary: 'Parts of the deployment: status, process id, URL and settings',
  query: OVERVIEW_QUERY,
  body: 'ComponentsBody',
  errors: [],
  cached: true,
  open(monitor) {
    const describeQueues = createQueuesComponent(monitor);
    const readOthers = createComponentsReader(monitor);
    const readFindings = findingsOf(monitor);
    const make = async (): Promise<Made> => {
      const found = readFindings();
      const [metrics, history, queues, others, { component: findings, situations }] = await Promise.all([
        describeMetrics(monitor),
        describeHistory(monitor),
        describeQueues(found),
        readOthers(),
        found,
      ]);
      const beat = describeBeat(situations);
      return { own: { metrics, beat, history, queues, findings }, others, documents: new Map() };
    };
    const share = shareBursts(make);
    return (asked, fault) => {
      const overview = overviewOf(monitor, asked, keyOf('components', asked), fault);
      return async (request, response) => {
        const [made, ...added] = await Promise.all([
          share(),
          ...overview.map((read) => read(request, response)),
        ]);
        const document = documentOf(made, describeWeb(monitor, request));
        if (added.length === 0) await sendDocument(request, response, document);
        else await sendPacked(request, response, withAdded(document, added));
      };
    };
  },
});

/** The components of all sources, for several requests. */
interface Made {
  readonly own: Readonly<Record<'metrics' | 'beat' | 'history' | 'queues' | 'findings', ComponentBody>>;
  readonly others: readonly KeyedComponent[];
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
    // Without the time of the evaluation.
    etag: tagOf(
      JSON.stringify({ ...body, queues: stableQueues(queues), findings: { ...findings, checked_at: null } }),
    ),
  };
  documents.set(web.url, document);
  return document;
}

function withAdded({ body, etag }: Document, added: readonly Added[]): Document {
  const members = added.map(({ name, json }) => `,"${name}":${json}`);
  return {
    body: Buffer.from(`${body.toString().slice(0, -1)}${members.join('')}}`),
    etag: tagOf(etag, ...added.map(({ covers }) => covers)),
  };
}

/** A list of one source. */
interface Listed<Row> {
  readonly source: string;
  /** If the last read failed, those of the read before. */
  readonly rows: readonly Row[];
  /** Why the last read failed. */
  readonly error: SourceErrorCode | null;
}

/** Creates the reader of one list of all sources. In an outage of a source, its last rows stay listed. */
function createListsReader<Part extends SourcePart, Row>(
  monitor: Monitor,
  part: Part | undefined,
  call: string,
  read: (reads: SourceReads, part: Part) => Promise<Known<Rows<Row>>>,
): () => Promise<readonly Listed<Row>[]> {
  const last = new Map<Part, Rows<Row>>();

  async function readOne(one: Part): Promise<Listed<Row>> {
    const reads: SourceReads = { monitor, name: one.name, failures: [], key: 'findings' };
    const rows = await read(reads, one);
    // Several requests may have shared the read.
    if (rows && rows.unreadable > 0 && rows !== last.get(one)) {
      monitor.countUnreadable(one, call, rows.unreadable);
    }
    if (rows) last.set(one, rows);
    return { source: one.name, rows: last.get(one)?.shown ?? [], error: reads.failures[0] ?? null };
  }

  return () => Promise.all((part === undefined ? [] : partsOf(part)).map(readOne));
}

/** Creates the reader of the components of all sources. In an outage, the status of those of the source is unknown. */
function createComponentsReader(monitor: Monitor): () => Promise<readonly KeyedComponent[]> {
  const { components: part } = monitor.sources;
  const read = createListsReader(monitor, part, 'listComponents', readComponents);
  return async () => (await read()).flatMap(componentsOf);
}

function componentsOf({ source, rows, error }: Listed<KeyedComponent>): readonly KeyedComponent[] {
  const own = rows.map(
    ([key, body]): KeyedComponent => [
      `${source}.${key}`,
      error === null ? body : { ...body, status: 'unknown' },
    ],
  );
  if (error === null) return own;
  return [[`${source}.source`, ownComponent(source, 'down', { config: { error } })], ...own];
}

/** Creates the reader of the component. In an outage, the last queues stay listed with the status and the error. */
function createQueuesComponent(monitor: Monitor): (found: Promise<Findings>) => Promise<ComponentBody> {
  const { queues: part } = monitor.sources;
  const read = createListsReader(monitor, part, 'listQueues', readQueues);
  return async (found) => {
    const [lists, findings] = await Promise.all([read(), found]);
    const failures = lists.flatMap(({ error }) => error ?? []);
    const away = part === undefined ? null : errorOf(freshnessOf(part, Date.now(), monitor.report));
    const error = failures[0] ?? away;
    // If only some sources have failed, the others have answered.
    const isDown = failures.length === lists.length || failures.length === 0;
    const status = error === null ? 'up' : isDown ? 'down' : 'unknown';
    const queues = await scheduler.run('queues', bodiesOf(monitor, lists, findings));
    return ownComponent('queues', part === undefined ? 'disabled' : status, {
      config: error === null ? null : { error },
      queues: queues.sort(bySourceAndName),
    });
  };
}

function* bodiesOf(
  { serializer }: Monitor,
  lists: readonly Listed<JudgedQueue>[],
  { situations, answerQueues }: Findings,
): Steps<QueueBody[]> {
  const bodies: QueueBody[] = [];
  for (const { source, rows, error } of lists) {
    const known = situations.find(({ name }) => name === source) ?? NOTHING_KNOWN;
    // Rows from before an outage say nothing about now.
    const queues = error === null ? rows : rows.map((row) => ({ ...row, waiting: row.waiting && null }));
    const answers = yield* answerQueues(source, { ...known, queues }, Date.now());
    for (const row of rows) {
      const { oldestDueAt: _due, concurrencyLimit: _limit, limiter: _limiter, ...queue } = row;
      const { blockedBy = null, drain = null } = answers.get(row.name) ?? {};
      bodies.push({
        ...queue,
        blocked_by: blockedBy === null ? null : serializer.wait(blockedBy),
        drain,
      });
      yield;
    }
  }
  return bodies;
}

const NOTHING_KNOWN = { activity: undefined, workers: undefined };

function bySourceAndName(a: QueueBody, b: QueueBody): number {
  return compareText(a.source, b.source) || compareText(a.name, b.name);
}

/** The component without the fields that change only with time, for the ETag. */
function stableQueues({ queues, ...component }: ComponentBody): object {
  return {
    ...component,
    queues: queues?.map((queue) => ({
      ...queue,
      oldest_due_seconds: null,
      as_of: null,
      drain: null,
      blocked_by: queue.blocked_by?.code ?? null,
    })),
  };
}
