/**
 * The collecting half of the source: listens to events and results, reads queues and stored results, asks
 * workers, and records everything in the history. All other data is in its snapshot.
 */
import type { History } from '../../history/history.ts';
import type { Redactor } from '../../redact.ts';
import type { Broker } from './broker.ts';
import { createBrokerWatch } from './broker-watch.ts';
import { blindness, hintsOf, isDeaf } from './collection-hints.ts';
import { type Collector, createCollector } from './collector.ts';
import { createWorkerControl, type WorkerControl } from './control/worker-control.ts';
import type { Hints } from './hints/hints.ts';
import { createObserver, type Observer } from './hints/observer.ts';
import { createIntake, type IntakeWatch } from './intake.ts';
import { createLineage, type Lineage } from './lineage/lineage.ts';
import { createQueues, type Queues } from './queues/queues.ts';
import type { ResultBackend } from './result-backend.ts';
import { createPropagatedFailures, type PropagatedFailures } from './results/propagated-failures.ts';
import { createResults, type Results } from './results/results.ts';
import { createSchedules, type RedbeatOptions, type Schedules } from './schedules/schedules.ts';
import type { CelerySettings } from './settings.ts';
import { type DeploymentSnapshot, snapshotOf } from './snapshot.ts';
import { createTaskWatch, type TaskWatch } from './task-watch.ts';

/** Milliseconds that one look-up may take. */
const LOOKUP_MS = 5_000;

/** What is collected, and from where. */
export interface CollectionOptions {
  readonly name: string;
  readonly settings: CelerySettings;
  /** `null` where the broker cannot be read. */
  readonly broker: Broker | null;
  /** `null` without a result backend that can be read. */
  readonly backend: ResultBackend | null;
  readonly redbeat: RedbeatOptions;
  /** Whether workers may be asked. */
  readonly control: boolean;
  /** Whether to turn events on in workers that send none. */
  readonly enableEvents: boolean;
  /** Whether stored results are read at the start. */
  readonly readResults: boolean;
  /** Longest text to make of one stored value, in characters. */
  readonly valueLength: number;
  /** The scheme of a broker or result backend that cannot be read, such as `amqp`; `null` without one. */
  readonly foreignBroker: string | null;
  readonly foreignBackend: string | null;
  /** Removes secrets from texts before they are shown or searched. Default: none; they stay as they are. */
  readonly redactor?: Redactor | null;
}

/** Collects until it is closed. */
export interface Collection {
  readonly collector: Collector;
  /** `null` where the host does not want it, or the broker offers none. */
  readonly control: WorkerControl | null;
  /** `null` where the broker cannot be read. */
  readonly queues: Queues | null;
  /** `null` without a result backend that can be read. */
  readonly results: Results | null;
  readonly schedules: Schedules;
  snapshot(): DeploymentSnapshot;
  /** Why tasks may happen unseen; `null`: nothing is known to hide them. */
  blind(): string | null;
  /** Whether what happens is heard: events, or published results where there are no events to hear. */
  isListening(): boolean;
  /** Stops collecting. The connections of broker and backend stay open. */
  close(): Promise<void>;
}

interface Parts {
  readonly observer: Observer;
  readonly lineage: Lineage;
  readonly control: WorkerControl | null;
  readonly queues: Queues | null;
  readonly results: Results | null;
  readonly schedules: Schedules;
  readonly propagated: PropagatedFailures;
}

/** Connects at once, and continues until it is closed. */
export function createCollection(options: CollectionOptions, history: History): Collection {
  const observer = createObserver();
  const lineage = observedLineage(createLineage(history), observer);
  const control = controlOf(options, history, observer);
  const queues = queuesOf(options, history, lineage, control);
  const results = resultsOf(options, history, lineage, queues);
  const { name, settings, redbeat, broker, backend } = options;
  const conf = async () => (await control?.conf()) ?? null;
  const schedules = createSchedules({ name, settings, redbeat, conf });
  const propagated = createPropagatedFailures({
    index: history.index,
    isDeaf: () => isDeaf(broker?.events ?? null, collector, observer, hints),
    release(result) {
      history.writer.recordTask(result.change);
      lineage.stored(result);
    },
    found: lineage.neverRan,
  });
  const parts: Parts = { observer, lineage, control, queues, results, schedules, propagated };
  const intake = createIntake(history.writer, watchOf(parts), options.valueLength);
  const collector = createCollector({
    events: broker?.events ?? null,
    results: backend?.published ?? null,
    writer: history.writer,
    intake,
  });
  const hints = hintsOf(options, observer, collector);
  const brokerWatch =
    broker === null ? null : createBrokerWatch(broker, (problem) => observer.access('broker', problem));
  const taskWatch =
    control === null ? null : taskWatchOf(parts, history, control, hints, broker?.events ?? null);
  collector.start((server, again) => onConnected(parts, taskWatch, server, again));
  results?.start();
  queues?.start();
  return {
    collector,
    control,
    queues,
    results,
    schedules,
    snapshot: () => snapshotOf({ ...parts, collector, intake, hints }),
    blind: () => blindness(collector, observer, hints),
    isListening: () => (collector.events ?? collector.results)?.state().up ?? true,
    async close() {
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

function controlOf(options: CollectionOptions, history: History, observer: Observer): WorkerControl | null {
  const mailbox = options.broker?.control ?? null;
  if (mailbox === null || !options.control) return null;
  const { enableEvents } = options;
  return createWorkerControl({ mailbox, history, enableEvents, onReplies: observer.replies });
}

function queuesOf(
  { broker, redactor = null }: CollectionOptions,
  history: History,
  lineage: Lineage,
  control: WorkerControl | null,
): Queues | null {
  const reader = broker?.queues ?? null;
  if (reader === null) return null;
  return createQueues({
    reader,
    history,
    lineage,
    redactor,
    known: () => control?.inspection.knownQueues() ?? [],
  });
}

function resultsOf(
  options: CollectionOptions,
  history: History,
  lineage: Lineage,
  queues: Queues | null,
): Results | null {
  const { backend, settings, valueLength, readResults: readsStored, redactor = null } = options;
  if (backend === null) return null;
  const { stored, published } = backend;
  const from = { stored, published, settings, readsStored };
  const isWaiting = (id: string): boolean => queues?.waits(id) === true;
  return createResults({ ...from, history, lineage, isWaiting, valueLength, redactor });
}

function watchOf({ observer, lineage, control, schedules, propagated }: Parts): IntakeWatch {
  return {
    held: propagated.take,
    missed: propagated.missed,
    changed(change) {
      propagated.heard(change.id);
      lineage.changed(change);
      observer.task(change);
      schedules.observe(change);
    },
    stored: lineage.stored,
    saved: lineage.saved,
    sized: lineage.sized,
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
  { observer, queues, results }: Parts,
  history: History,
  control: WorkerControl,
  hints: Hints,
  events: Broker['events'] | null,
): TaskWatch {
  return createTaskWatch({
    isBehind: () => events?.isBehind?.() ?? false,
    history,
    running: control.running,
    isQueued: (id) => queues?.holds(id) ?? null,
    lookUp: async (ids) => results?.lookup(ids, AbortSignal.timeout(LOOKUP_MS)),
    isBlind() {
      const { taskEvents, workers } = observer.facts();
      return hints.silentWorkers().length > 0 || (taskEvents === 0 && workers.size > 0);
    },
  });
}

function onConnected(
  { observer, schedules, results }: Parts,
  taskWatch: TaskWatch | null,
  server: 'broker' | 'backend',
  again: boolean,
): void {
  observer.connected(server);
  if (server === 'broker') void schedules.refresh();
  if (server === 'backend') results?.onListening();
  else if (again) results?.onGap();
  if (again) taskWatch?.askSoon();
}
