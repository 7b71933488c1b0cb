/** A Celery source: collects a deployment into a history, and answers from both. */
import type { History, HistoryIndex, HistoryReader } from '../../history/history.ts';
import { createMemoryHistory } from '../../history/memory-history.ts';
import type { RetentionOptions } from '../../history/retention.ts';
import type { ConnectionState } from '../../kept-connection.ts';
import type { Component, HealthCheck, Queue, WorkerHealthCheck } from '../../model.ts';
import { type Redactor, redactComponent, redactSchedule } from '../../redact.ts';
import { withEngine } from '../../source/bundles.ts';
import type {
  ComponentSource,
  HealthSource,
  Meter,
  MeterOptions,
  QueueSource,
  ReadContext,
  ScheduleSource,
} from '../../source.ts';
import { type CeleryParts, createAnswers, type Deployment, type Sight } from './answers.ts';
import type { Broker } from './broker.ts';
import { type Collection, type CollectionOptions, createCollection } from './collection.ts';
import type { Collector } from './collector.ts';
import type { Hint, HintComponent, Problem } from './hint.ts';
import { type MeterContext, openMeter } from './metrics/meter.ts';
import { waitingGroups } from './queues/waiting-messages.ts';
import type { ResultBackend } from './result-backend.ts';
import type { Results } from './results/results.ts';

/** Longest text of a stored value in characters, unless `retention.maxValueLength` is set. */
const VALUE_LENGTH = 65_536;

/** The parts of a Celery source, for any broker and result backend. */
export interface CelerySourceOptions extends Omit<LiveOptions, 'valueLength'> {
  /** Limits on the history in memory. */
  readonly retention: RetentionOptions;
}

/** A source that can be closed. */
export type ClosableParts = CeleryParts & {
  readonly experimental: { openMeter(options: MeterOptions): Meter };
  close(): Promise<void>;
};

/** A Celery source: a history in memory, its collector, and its answers. */
export function createCelerySource(options: CelerySourceOptions): ClosableParts {
  const { retention, broker, redactor = null } = options;
  const history = createMemoryHistory({ ...retention, redactor, eventless: broker === null });
  const live = openLive({ ...options, valueLength: valueLengthOf(retention) }, history);
  return closable(live.parts, meterOf(options, history), async () => {
    await live.close();
    history.close();
  });
}

/** Longest text to make of one stored value, in characters. */
export function valueLengthOf({ maxValueLength = VALUE_LENGTH }: RetentionOptions): number {
  return maxValueLength;
}

/** The metered data of a deployment that is collected here. RabbitMQ counts consumers, and lists no messages. */
function meterOf({ broker }: Pick<LiveOptions, 'broker'>, history: History): Omit<MeterContext, 'parts'> {
  return { history, hasConsumers: broker?.queues?.listsMessages === false };
}

/** The parts of a Celery source, which are closed once. */
export function closable(
  parts: CeleryParts,
  meter: Omit<MeterContext, 'parts'>,
  close: () => Promise<void>,
): ClosableParts {
  let closing: Promise<void> | null = null;
  const experimental = {
    ...parts.experimental,
    openMeter: (options: MeterOptions) => openMeter({ ...meter, parts }, options),
  };
  return {
    ...withEngine({ ...parts, experimental }, 'celery'),
    close() {
      closing ??= close();
      return closing;
    },
  };
}

/** The collected deployment, and how its connections are closed. */
export interface LiveOptions extends CollectionOptions {
  /** Called at the end, to close the connections of broker and backend. */
  readonly closeConnections: () => Promise<void>;
}

/** A deployment that is collected until this is closed. */
export type Live = ReturnType<typeof openLive>;

/** Collects a deployment into a history, and answers from both. Connects at once. */
export function openLive(options: LiveOptions, history: History) {
  const collection = createCollection(options, history);
  const deployment = deploymentOf(options, history, collection);
  return {
    deployment,
    parts: createAnswers(options.name, history.reader, deployment),
    /** Whether it receives messages. */
    isListening: collection.isListening,
    /** Closes the connections, too. The history stays open. */
    async close() {
      await collection.close();
      await options.closeConnections();
    },
  };
}

function deploymentOf(options: LiveOptions, { reader, index }: History, collection: Collection): Deployment {
  const { name, broker, backend, redactor = null } = options;
  const { collector, control, queues, results } = collection;
  return {
    status: collector.status,
    workerStatus: collector.workerStatus,
    waiting: queues?.listsMessages === true ? queues : null,
    queues: queueSource(name, collection),
    schedules: scheduleSource(collection, redactor),
    health: createHealth({ name, reader, collector, broker, backend, ping: control?.ping ?? null }),
    components: createComponents(options, collection),
    sight: () => sightOf(collection, index),
    withLookup: (tasks) => results?.withLookup(tasks) ?? tasks,
    withInspection: (workers) => control?.inspection.withInspection(workers) ?? workers,
  };
}

/** Messages on Celery's queues carry no time at which they were sent, so the age of the oldest is unknown. */
function queueSource(name: string, collection: Collection): QueueSource {
  const { queues } = collection;
  return {
    name,
    status() {
      const ok = queues?.ok() ?? true;
      return { ok, asOf: queues?.asOf() ?? null, error: ok ? null : 'source_unavailable' };
    },
    async listQueues() {
      queues?.asked();
      await queues?.ready();
      const asOf = queues?.asOf() ?? null;
      return rowsOf(collection).map((row) => ({ ...row, oldestDueAt: null, asOf }));
    },
  };
}

/** Consumers come from the broker, or else from the workers' answers. */
function rowsOf({ queues, control }: Collection): Omit<Queue, 'oldestDueAt' | 'asOf'>[] {
  const consumers = control?.inspection.queuesOf() ?? null;
  return (queues?.depths() ?? []).map((row) => ({
    ...row,
    consumers: row.consumers ?? (consumers === null ? null : (consumers.get(row.name) ?? 0)),
  }));
}

function scheduleSource({ schedules }: Collection, redactor: Redactor | null): ScheduleSource {
  const source: ScheduleSource = schedules.source;
  return {
    ...source,
    async listSchedules(context) {
      const listed = await source.listSchedules(context);
      return listed?.map((schedule) => redactSchedule(schedule, redactor)) ?? null;
    },
  };
}

/**
 * Tasks wait where their messages are; a task that waits according to the history may have run unobserved. If messages
 * cannot be listed, the history decides.
 */
function sightOf({ sight, queues }: Collection, index: Pick<HistoryIndex, 'sentAt'>): Sight {
  if (queues === null) return { blind: sight.blind(), waiting: null };
  // The queues are read less often without requests.
  queues.asked();
  if (!queues.listsMessages) return { blind: sight.blind(), waiting: null };
  return { blind: sight.blind(), waiting: waitingGroups(queues.index().messages, index.sentAt, Date.now()) };
}

/**
 * Answers `/healthcheck`: broker and result backend by a sign of life over the connections that commands
 * use, workers by their heartbeats, or by a ping where the host allows it.
 */
function createHealth(options: {
  readonly name: string;
  readonly reader: HistoryReader;
  readonly collector: Pick<Collector, 'workerStatus'>;
  /** `null` where it cannot be read. */
  readonly broker: Pick<Broker, 'check'> | null;
  readonly backend: Pick<ResultBackend, 'check'> | null;
  /** Asks the workers themselves; `null` where that is not possible, or not allowed. */
  readonly ping: ((signal: AbortSignal) => Promise<WorkerHealthCheck | null>) | null;
}): HealthSource {
  const { name, reader, collector, broker, backend, ping } = options;

  async function check(server: Pick<Broker, 'check'>, { signal }: ReadContext): Promise<HealthCheck> {
    const problem = await server.check(signal);
    return problem === null ? { ok: true, error: null } : { ok: false, error: problem.sentence };
  }

  async function byHeartbeats(context: ReadContext): Promise<WorkerHealthCheck> {
    if (!collector.workerStatus().ok) {
      const error = 'The broker cannot be reached, so it is unknown whether workers respond.';
      return { ok: false, error, responding: [], missing: [] };
    }
    const { responding, missing } = await reader.checkWorkers(context);
    const ok = responding.length > 0;
    return { ok, error: ok ? null : 'No worker has sent a heartbeat recently.', responding, missing };
  }

  return {
    name,
    ...(broker === null ? {} : { checkBroker: (context: ReadContext) => check(broker, context) }),
    ...(backend === null ? {} : { checkBackend: (context: ReadContext) => check(backend, context) }),
    async checkWorkers(context) {
      const mayPing = context.ping && ping !== null && collector.workerStatus().ok;
      return (mayPing ? await ping(context.signal) : null) ?? (await byHeartbeats(context));
    },
  };
}

/** What components show of the options. */
type ComponentsOptions = Pick<
  CollectionOptions,
  'name' | 'broker' | 'backend' | 'foreignBroker' | 'foreignBackend' | 'redactor'
>;

/** Answers `/api/components/`: broker, result backend, the listener to both, remote control, and beat. */
function createComponents(options: ComponentsOptions, collection: Collection): ComponentSource {
  const { name, redactor = null } = options;
  return {
    name,
    async listComponents() {
      const hints = collection.hints.all();
      const components = [
        brokerComponent(options, collection, hints),
        backendComponent(options, collection, hints),
        collectorComponent(collection, hints),
        controlComponent(collection),
        await collection.schedules.component(),
      ];
      return components.map((component) => redactComponent(component, redactor));
    },
  };
}

function brokerComponent(
  { broker, foreignBroker }: ComponentsOptions,
  { collector, queues, brokerWatch }: Collection,
  all: readonly Hint[],
): Component {
  const label = { key: 'broker', name: 'Broker', enabled: true };
  const hints = hintsOf(all, 'broker');
  const events = collector.events?.state() ?? null;
  const readOnly = brokerWatch?.problem() ?? null;
  if (broker === null || events === null) {
    return { ...label, status: 'unknown', config: { transport: foreignBroker, ...hints } };
  }
  const { url, config } = broker.describe();
  const error = (events.problem ?? readOnly)?.sentence ?? null;
  return {
    ...label,
    status: readOnly === null ? statusOf([events]) : 'down',
    url,
    config: {
      ...config,
      error,
      unreadable_messages: queues?.unreadable() ?? 0,
      // The finding `workers_silent` names this cause.
      refuses_workers: all.find(({ code }) => code === 'broker_version')?.sentence ?? null,
      ...hints,
    },
  };
}

function backendComponent(
  { backend, foreignBackend }: ComponentsOptions,
  { collector, results }: Collection,
  all: readonly Hint[],
): Component {
  const label = { key: 'backend', name: 'Result backend' };
  const hints = hintsOf(all, 'backend');
  const state = collector.results?.state() ?? null;
  if (backend !== null && state !== null && results !== null) {
    const { url, config } = backend.describe();
    const error = state.problem?.sentence ?? null;
    const status = statusOf([state]);
    return {
      ...label,
      enabled: true,
      status,
      url,
      config: { ...config, error, results: progress(results.progress()), ...hints },
    };
  }
  if (foreignBackend === null) return { ...label, enabled: false, status: 'disabled', config: hints };
  return { ...label, enabled: true, status: 'unknown', config: { transport: foreignBackend, ...hints } };
}

/** The members of a component's `config`: the hints about it, and the code of each. */
function hintsOf(all: readonly Hint[], key: HintComponent): { hints: string[]; hint_codes: string[] } {
  const own = all.filter(({ component }) => component === key);
  return { hints: own.map(({ sentence }) => sentence), hint_codes: own.map(({ code }) => code) };
}

/** Progress of reading stored results. */
function progress({
  since,
  finishedAt,
  problem,
  ...counts
}: ReturnType<Results['progress']>): Record<string, unknown> {
  return {
    ...counts,
    since: since?.toISOString() ?? null,
    finished_at: finishedAt?.toISOString() ?? null,
    error: problem?.sentence ?? null,
  };
}

function collectorComponent({ collector, intake }: Collection, hints: readonly Hint[]): Component {
  const { channels, events, results } = collector;
  const states = [events, results].flatMap((connection) => connection?.state() ?? []);
  const since = states.map((state) => state.since);
  const isUp = since.every((moment) => moment !== null);
  return {
    key: 'collector',
    name: 'Event collector',
    enabled: true,
    status: statusOf(states),
    config: {
      channels,
      messages: collector.messages(),
      dropped: intake.dropped(),
      connected_since: isUp ? new Date(Math.max(...since.map(Number))).toISOString() : null,
      reconnects: states.reduce((sum, state) => sum + state.reconnects, 0),
      error: states.find((state) => state.problem !== null)?.problem?.sentence ?? null,
      ...hintsOf(hints, 'collector'),
    },
  };
}

function controlComponent({ control }: Collection): Component {
  const label = { key: 'control', name: 'Remote control' };
  if (control === null) return { ...label, enabled: false, status: 'disabled' };
  const problem = control.problem();
  const hasAnswered = control.inspection.queuesOf() !== null;
  return {
    ...label,
    enabled: true,
    // Not known until a worker has answered.
    status: problem !== null ? 'down' : hasAnswered ? 'up' : 'unknown',
    config: { error: problem?.sentence ?? null },
  };
}

/** Not known until the first attempt to connect has ended. */
function statusOf(states: readonly ConnectionState<Problem>[]): Component['status'] {
  if (states.every((state) => state.up)) return 'up';
  return states.some((state) => state.problem !== null) ? 'down' : 'unknown';
}
