/**
 * The collecting half of the source: listens to events and results, reads queues and stored results, asks
 * workers, and records everything in the history. All other data is in its snapshot.
 */
import type { History } from '../../history/history.ts';
import type { Broker } from './broker.ts';
import { type BrokerWatch, createBrokerWatch } from './broker-watch.ts';
import { blindness, hintsOf, isDeaf } from './collection-hints.ts';
import { type CollectionOptions, controlOf, queuesOf, resultsOf } from './collection-parts.ts';
import { type Collector, createCollector } from './collector.ts';
import type { WorkerControl } from './control/worker-control.ts';
import type { AccessProblems } from './hints/facts.ts';
import type { Hints } from './hints/hints.ts';
import { createObserver, type Observer } from './hints/observer.ts';
import { createIntake, type IntakeWatch } from './intake.ts';
import { createLineage, type Lineage } from './lineage/lineage.ts';
import { restoreLineage } from './lineage-restore.ts';
import type { Queues, QueueWatch } from './queues/queues.ts';
import { createReadiness } from './readiness.ts';
import { createPropagatedFailures, type PropagatedFailures } from './results/propagated-failures.ts';
import type { Results } from './results/results.ts';
import { createSchedules, type Schedules } from './schedules/schedules.ts';
import { type DeploymentSnapshot, snapshotOf } from './snapshot.ts';
import { createTaskWatch, type TaskWatch } from './task-watch.ts';

/** Milliseconds that one look-up may take. */
const LOOKUP_MS = 5_000;

export type { CollectionOptions } from './collection-parts.ts';

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
  /** Why tasks may run unobserved; `null`: nothing is known to hide them. */
  blind(): string | null;
  /** Whether messages are received: events, or published results if there are no events. */
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
  const { name, settings, redbeat, django, broker, backend, kept = null } = options;
  const conf = async () => (await control?.conf()) ?? null;
  const { reader } = history;
  const schedules = createSchedules({ name, settings, redbeat, django, conf, reader, kept });
  const propagated = createPropagatedFailures(
    history,
    () => isDeaf(broker?.events ?? null, collector, observer, hints),
    lineage.neverRan,
  );
  const watch = queueWatch({ lineage, schedules, observer, propagated });
  const queues = queuesOf(options, history, watch, control);
  const results = resultsOf(options, history, lineage, queues);
  const parts: Parts = { observer, lineage, control, queues, results, schedules, propagated };
  const intake = createIntake(history.writer, watchOf(parts), options.valueLength);
  const collector = createCollector({
    events: broker?.events ?? null,
    results: backend?.published ?? null,
    writer: history.writer,
    intake,
  });
  const brokerWatch = broker === null ? null : createBrokerWatch(broker);
  const hints = hintsOf(options, observer, collector, () => problemsOf(parts, brokerWatch));
  const taskWatch =
    control === null ? null : taskWatchOf(parts, history, control, hints, broker?.events ?? null);
  const readiness = createReadiness({
    name,
    index: history.index,
    observer,
    onReady: options.onReady ?? null,
  });
  collector.start(
    (server, again) => {
      onConnected(parts, taskWatch, server, again);
      if (collector.status().ok) readiness.connected();
    },
    () => onGap(parts, taskWatch),
  );
  results?.start();
  queues?.start();
  const restoring = restoreLineage({ reader: history.reader, lineage, results, kept });
  return {
    collector,
    control,
    queues,
    results,
    schedules,
    snapshot: () => snapshotOf({ ...parts, collector, intake, brokerWatch, hints }),
    blind: () => blindness(collector, observer, hints),
    isListening: () => (collector.events ?? collector.results)?.state().up ?? true,
    async close() {
      readiness.close();
      restoring.stop();
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

function problemsOf(
  { control, queues, results, schedules }: Parts,
  brokerWatch: BrokerWatch | null,
): AccessProblems {
  return {
    broker: brokerWatch?.problem() ?? null,
    results: results?.progress().problem ?? null,
    queues: queues?.problem() ?? null,
    schedules: schedules.problem(),
    control: control?.problem() ?? null,
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
  { observer, queues, results }: Parts,
  history: History,
  control: WorkerControl,
  hints: Hints,
  events: Broker['events'] | null,
): TaskWatch {
  /** Whether a worker, or every worker, sends no events about its tasks. */
  const isSilent = (): boolean => hints.silentWorkers().length > 0 || !observer.facts().hasTaskEvents;
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
