/**
 * The collecting half of the source: listens to events and results, reads queues and stored results, asks workers, and
 * records everything in the history. Everything else is read from its parts.
 */

import { debugChannel } from '../../debug.ts';
import type { History, HistoryIndex } from '../../history/history.ts';
import type { Redactor } from '../../redact.ts';
import type { Broker } from './broker.ts';
import { type Collector, createCollector, createIntake, type Intake, type IntakeWatch } from './collector.ts';
import { createTaskWatch, type TaskWatch } from './control/task-watch.ts';
import { createWorkerControl, type WorkerControl } from './control/worker-control.ts';
import type { Problem } from './hint.ts';
import { createHints, createSight, type Hints, type Sight } from './hints/hints.ts';
import { createObserver, type Observer } from './hints/observer.ts';
import type { HintedDeployment } from './hints/rules.ts';
import { createLineage, type Lineage } from './lineage/lineage.ts';
import { createQueues, type Queues, type QueueWatch } from './queues/queues.ts';
import { type KeptTasks, restoreLineage } from './results/kept-tasks.ts';
import { createPropagatedFailures, type PropagatedFailures } from './results/propagated-failures.ts';
import { createResults, type Results } from './results/results.ts';
import type { DjangoReader } from './schedules/django/django-reader.ts';
import type { RedbeatPlace } from './schedules/redbeat-schedule.ts';
import { createSchedules, type Schedules } from './schedules/schedules.ts';

/** Milliseconds that one look-up may take. */
const LOOKUP_MS = 5_000;

/** What is collected, and from where. */
export interface CollectionOptions extends HintedDeployment {
  readonly name: string;
  readonly redbeat: RedbeatPlace;
  /** Reads the schedule of django-celery-beat; `null` without a database. */
  readonly django: DjangoReader | null;
  /** Whether stored results are read at the start. */
  readonly readResults: boolean;
  /** Longest text to make of one stored value, in characters. */
  readonly valueLength: number;
  /** Removes secrets from texts before they are shown or searched. Default: none; they stay as they are. */
  readonly redactor?: Redactor | null;
  /** Called once everything is connected. Default: nothing is called. */
  readonly onReady?: OnReady | null;
  /** The content of the store. Default: there is no store. */
  readonly kept?: KeptTasks | null;
}

/** Collects until it is closed. */
export interface Collection {
  readonly collector: Collector;
  readonly intake: Pick<Intake, 'dropped'>;
  /** `null` where the host does not want it, or the broker offers none. */
  readonly control: WorkerControl | null;
  /** `null` where the broker cannot be read. */
  readonly queues: Queues | null;
  /** `null` without a result backend that can be read. */
  readonly results: Results | null;
  readonly schedules: Schedules;
  readonly sight: Sight;
  readonly hints: Hints;
  /** Finds out whether the broker accepts writes; `null` where it cannot be read. */
  readonly brokerWatch: ReturnType<typeof createBrokerWatch> | null;
  /** Whether messages are received: events, or published results if there are no events. */
  isListening(): boolean;
  /** Stops collecting. The connections of broker and backend stay open. */
  close(): Promise<void>;
}

interface Parts {
  readonly observer: Observer;
  readonly sight: Sight;
  readonly lineage: Lineage;
  readonly control: WorkerControl | null;
  readonly queues: Queues | null;
  readonly results: Results | null;
  readonly schedules: Schedules;
  readonly propagated: PropagatedFailures;
}

/** Connects at once, and continues until it is closed. */
export function createCollection(options: CollectionOptions, history: History): Collection {
  const { name, settings, redbeat, django, broker, backend, kept = null } = options;
  const events = broker?.events ?? null;
  const observer = createObserver();
  const sight = createSight(observer, events);
  const lineage = observedLineage(createLineage(history), observer);
  const propagated = createPropagatedFailures(history, sight.isDeaf, lineage.neverRan);
  const control = controlOf(options, history, observer);
  const conf = async () => (await control?.conf()) ?? null;
  const { reader } = history;
  const schedules = createSchedules({ name, settings, redbeat, django, conf, reader, kept });
  const watch = queueWatch({ lineage, schedules, observer, propagated });
  const queues = queuesOf(options, history, watch, control);
  const results = resultsOf(options, history, lineage, queues);
  const parts: Parts = { observer, sight, lineage, control, queues, results, schedules, propagated };
  const intake = createIntake(history.writer, watchOf(parts), options.valueLength);
  const collector = createCollector({
    events,
    results: backend?.published ?? null,
    writer: history.writer,
    intake,
  });
  const brokerWatch = broker === null ? null : createBrokerWatch(broker);
  const hints = createHints(options, observer, () => ({
    broker: brokerWatch?.problem() ?? null,
    results: results?.progress().problem ?? null,
    queues: queues?.problem() ?? null,
    schedules: schedules.problem(),
    control: control?.problem() ?? null,
  }));
  const taskWatch = control === null ? null : taskWatchOf(parts, history, control, events);
  const { index } = history;
  const readiness = createReadiness({ name, index, observer, onReady: options.onReady ?? null });
  collector.start(
    (server, again) => {
      onConnected(parts, taskWatch, server, again);
      if (collector.status().ok) readiness.connected();
    },
    () => onGap(parts, taskWatch),
  );
  results?.start();
  queues?.start();
  const stopRestoring = restoreLineage({ reader, lineage, results, kept });
  return {
    collector,
    intake,
    control,
    queues,
    results,
    schedules,
    sight,
    hints,
    brokerWatch,
    isListening: () => (collector.events ?? collector.results)?.state().up ?? true,
    async close() {
      readiness.close();
      stopRestoring();
      taskWatch?.close();
      brokerWatch?.close();
      results?.stop();
      queues?.stop();
      schedules.close();
      propagated.close();
      await Promise.all([hints.close(), control?.close()]);
    },
  };
}

/** `null` where the host does not want it, or the broker offers none. */
function controlOf(options: CollectionOptions, history: History, observer: Observer): WorkerControl | null {
  const mailbox = options.broker?.control ?? null;
  if (mailbox === null || !options.control) return null;
  const { enableEvents } = options;
  const { writer } = history;
  const recordWorker: typeof writer.recordWorker = (change) => {
    writer.recordWorker(change);
    observer.worker(change);
  };
  const observed = { ...history, writer: { ...writer, recordWorker } };
  return createWorkerControl({ mailbox, history: observed, enableEvents, onReplies: observer.replies });
}

/** `null` where the broker cannot be read. */
function queuesOf(
  { broker, redactor = null }: CollectionOptions,
  history: History,
  watch: QueueWatch,
  control: WorkerControl | null,
): Queues | null {
  const reader = broker?.queues ?? null;
  if (reader === null) return null;
  const known = (): readonly string[] => {
    // If no broker lists them, only workers know which queues exist.
    if (!reader.listsMessages && control?.inspection.queuesOf() === null) void control.inspection.refresh();
    return control?.inspection.knownQueues() ?? [];
  };
  return createQueues({ reader, history, watch, known }, redactor);
}

/** `null` without a result backend that can be read. */
function resultsOf(
  options: CollectionOptions,
  history: History,
  lineage: Lineage,
  queues: Queues | null,
): Results | null {
  const { backend, valueLength, readResults: readsStored, redactor = null, kept = null } = options;
  if (backend === null) return null;
  const isWaiting = (id: string): boolean => queues?.waits(id) === true;
  return createResults({ backend, history, lineage, isWaiting, valueLength, readsStored, kept, redactor });
}

/** The observer sees every result, whether it was published or read. */
function observedLineage(lineage: Lineage, observer: Observer): Lineage {
  return {
    ...lineage,
    stored(result) {
      lineage.stored(result);
      observer.task(result.change);
    },
  };
}

function queueWatch({
  lineage,
  schedules,
  observer,
  propagated,
}: Pick<Parts, 'lineage' | 'schedules' | 'observer' | 'propagated'>): QueueWatch {
  return {
    queued(task) {
      const { facts, periodicTask } = task;
      propagated.heard(facts.id);
      lineage.queued(task);
      if (periodicTask !== null) schedules.named(facts.id, periodicTask);
    },
    read: observer.queues,
  };
}

function watchOf({ observer, lineage, control, queues, schedules, propagated }: Parts): IntakeWatch {
  return {
    published: propagated.published,
    missed: propagated.missed,
    changed(change) {
      if (change.type === 'sent' && typeof change.queue === 'string') queues?.announced(change.queue);
      propagated.heard(change.id);
      lineage.changed(change);
      observer.task(change);
      schedules.observe(change);
    },
    stored: lineage.stored,
    saved: lineage.saved,
    worker(change) {
      observer.worker(change);
      if (change.type !== 'online') return;
      control?.workerOnline(change.hostname);
      void schedules.refresh();
    },
    unreadableEvent: (contentType) => observer.unreadable('event', contentType ?? ''),
    unreadableResult: (message) => observer.unreadable('result', message),
  };
}

function taskWatchOf(
  { observer, sight, queues, results }: Parts,
  history: History,
  control: WorkerControl,
  events: Broker['events'] | null,
): TaskWatch {
  /** Whether a worker, or every worker, sends no events about its tasks. */
  const isSilent = (): boolean => sight.silentWorkers().length > 0 || !observer.facts().hasTaskEvents;
  return createTaskWatch({
    isBehind: () => events?.isBehind?.() ?? false,
    history,
    running: control.running,
    isQueued: (id) => queues?.holds(id) ?? null,
    seesEnds: () => results !== null || !isSilent(),
    lookUp: async (ids) => results?.lookup(ids, AbortSignal.timeout(LOOKUP_MS)),
    isBlind: () => isSilent() && observer.facts().workers.size > 0,
  });
}

function onConnected(
  parts: Parts,
  taskWatch: TaskWatch | null,
  server: 'broker' | 'backend',
  again: boolean,
): void {
  const { observer, schedules, results } = parts;
  observer.connected(server);
  if (server === 'broker') void schedules.refresh();
  if (server === 'backend') {
    results?.onListening();
    if (again) taskWatch?.askSoon();
  } else if (again) onGap(parts, taskWatch);
}

/** Results and workers have the data of missed events. */
function onGap({ results, schedules }: Parts, taskWatch: TaskWatch | null): void {
  schedules.missed();
  results?.onGap();
  taskWatch?.askSoon();
}

const FIRST_MS = 1_000;
const INTERVAL_MS = 15_000;

/** Begins at once. */
function createBrokerWatch(broker: Pick<Broker, 'check'>) {
  const closing = new AbortController();
  let isBusy = false;
  let found: Problem | null = null;

  async function look(): Promise<void> {
    if (isBusy) return;
    isBusy = true;
    const problem = await broker.check(closing.signal);
    isBusy = false;
    found = problem?.code === 'READONLY' ? problem : null;
  }

  const first = setTimeout(() => void look(), FIRST_MS).unref();
  const ticker = setInterval(() => void look(), INTERVAL_MS).unref();
  return {
    /** Why the broker accepts no writes; `null`: it accepts them, or is unreachable. */
    problem: () => found,
    close() {
      closing.abort();
      clearTimeout(first);
      clearInterval(ticker);
    },
  };
}

const debug = debugChannel('celery');

/** A worker sends a heartbeat every 2 s, unless it is configured otherwise. */
const LISTEN_MS = 3_000;

/** What `onReady` of `celerySources` gets. */
export interface CeleryReady {
  /** The name of the source. */
  readonly source: string;
  /** Workers that were heard in the first seconds after connecting. */
  readonly workers: number;
  /**
   * Those of them that have reported a task. If this stays 0 while tasks run, start the workers with `-E`; the hints
   * of the components name them.
   */
  readonly reporting: number;
}

/** The option `onReady` of `celerySources`. */
export type OnReady = (summary: CeleryReady) => void;

function createReadiness({
  name,
  index,
  observer,
  onReady,
}: {
  readonly name: string;
  readonly index: Pick<HistoryIndex, 'checkWorkers'>;
  readonly observer: Observer;
  readonly onReady: OnReady | null;
}) {
  let timer: NodeJS.Timeout | undefined;

  function tell(): void {
    const workers = index.checkWorkers().responding.length;
    const reporting = [...observer.facts().workers.values()].filter(
      ({ taskEvents }) => taskEvents > 0,
    ).length;
    debug('%s: connected; %d workers, %d of them have reported tasks', name, workers, reporting);
    try {
      onReady?.({ source: name, workers, reporting });
    } catch (error) {
      debug('%s: onReady has thrown: %O', name, error);
    }
  }

  return {
    /** To be called whenever everything is connected. */
    connected() {
      timer ??= setTimeout(tell, LISTEN_MS).unref();
    },
    close: () => clearTimeout(timer),
  };
}
