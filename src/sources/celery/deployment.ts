/** Puts the parts together that read one deployment. */

import type { History } from '../../history/history.ts';
import type { HistorySources } from '../../history/history-sources.ts';
import type { QueueDepth } from '../../model.ts';
import { createRedisReader } from '../../redis/connection-reader.ts';
import type { ComponentSource, HealthSource, ScheduleSource, WorkerSource } from '../../source.ts';
import { createRedisResultBackend } from './backends/redis/redis-result-backend.ts';
import { createRedisBroker } from './brokers/redis/broker.ts';
import { redbeatLocation } from './brokers/redis/redbeat-endpoint.ts';
import { type Collector, createCollector } from './collector.ts';
import { componentsOf } from './components.ts';
import { createWorkerControl } from './control/worker-control.ts';
import { createHealth } from './health.ts';
import { createHints } from './hints/hints.ts';
import { createObserver } from './hints/observer.ts';
import { createIntake, type IntakeWatch } from './intake.ts';
import { createLineage, type Lineage } from './lineage/lineage.ts';
import type { ResolvedOptions } from './options.ts';
import { createQueues } from './queues/queues.ts';
import { withWaiting } from './queues/waiting-tasks.ts';
import { createResults } from './results/results.ts';
import { createSchedules } from './schedules/schedules.ts';
import { createTaskWatch } from './task-watch.ts';

/** Longest value made of a stored result when `retention.maxValueLength` does not say. */
const VALUE_LENGTH = 65_536;

/** Everything that is read of a deployment. */
export interface Deployment {
  readonly collector: Collector;
  /** The history's tasks, with what only the backend and the queues know. */
  withTasks(tasks: HistorySources['tasks']): HistorySources['tasks'];
  /** The history's workers, with what only they know. */
  withWorkers(workers: WorkerSource): WorkerSource;
  readonly schedules: ScheduleSource;
  readonly health: HealthSource;
  readonly components: ComponentSource;
  /** Resolves within about two seconds, whatever Redis does. */
  close(): Promise<void>;
}

/** Connects at once, and goes on reading. */
export function createDeployment(options: ResolvedOptions, history: History): Deployment {
  const { name, settings, broker, backend: resultEndpoint, retention } = options;
  const valueLength = retention.maxValueLength ?? VALUE_LENGTH;
  const observer = createObserver();
  const lineage = createLineage(history);
  /** What is read, not heard, goes the same ways. */
  const told: Lineage = {
    ...lineage,
    stored(result) {
      lineage.stored(result);
      observer.task(result.change);
    },
  };

  const brokerReader = broker === null ? null : createRedisReader('broker', broker);
  const isOneDatabase =
    broker?.server === resultEndpoint?.server && broker?.database === resultEndpoint?.database;
  const backend =
    resultEndpoint === null
      ? null
      : createRedisResultBackend({
          endpoint: resultEndpoint,
          reader:
            isOneDatabase && brokerReader !== null
              ? brokerReader
              : createRedisReader('result backend', resultEndpoint),
          settings,
        });

  const brokerClient =
    broker === null || brokerReader === null
      ? null
      : createRedisBroker({ endpoint: broker, settings, reader: brokerReader, queues: options.queues });
  const mailbox = brokerClient?.control ?? null;
  const control =
    mailbox === null || !options.control
      ? null
      : createWorkerControl({
          mailbox,
          history,
          enableEvents: options.enableEvents,
          onReplies: observer.replies,
        });
  const results =
    backend === null
      ? null
      : createResults({
          stored: backend.stored,
          settings,
          history,
          lineage: told,
          valueLength,
          readsStored: options.readResults,
        });
  const queueReader = brokerClient?.queues ?? null;
  const queues =
    queueReader === null
      ? null
      : createQueues({
          reader: queueReader,
          history,
          lineage,
          known: () => control?.inspection.knownQueues() ?? [],
        });
  const redbeat = redbeatLocation(settings, broker);
  const redbeatReader =
    redbeat.endpoint === null
      ? null
      : redbeat.endpoint === broker
        ? brokerReader
        : createRedisReader('redbeat', redbeat.endpoint);
  const schedules = createSchedules({
    name,
    settings,
    reader: redbeatReader,
    unreadable: redbeat.hint,
    conf: async () => (await control?.conf()) ?? null,
  });

  const watch: IntakeWatch = {
    changed(change) {
      lineage.changed(change);
      observer.task(change);
      schedules.observe(change);
    },
    stored: told.stored,
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
  const intake = createIntake(history.writer, watch, valueLength);
  const taskWatch =
    control === null
      ? null
      : createTaskWatch({
          history,
          running: control.running,
          isQueued: (id) => queues?.holds(id) ?? null,
          lookUp: async (ids) => results?.lookup(ids, AbortSignal.timeout(5_000)),
          isBlind: () =>
            hints.silentWorkers().length > 0 ||
            (observer.facts().taskEvents === 0 && observer.facts().workers.size > 0),
        });
  const collector = createCollector({
    events: brokerClient?.events ?? null,
    results: backend?.published ?? null,
    writer: history.writer,
    intake,
    onConnected(place, again) {
      observer.connected(place);
      if (place === 'broker') void schedules.refresh();
      if (!again) return;
      results?.onGap();
      taskWatch?.askSoon();
    },
  });
  const hints = createHints({
    options: {
      control: options.control,
      enableEvents: options.enableEvents,
      foreignBroker: options.foreignBroker,
      foreignBackend: options.foreignBackend,
      hasBackend: backend !== null,
      brokerHint: brokerClient?.deniedHint,
      backendHint: backend?.deniedHint,
    },
    observer,
    events: collector.events,
    results: collector.results,
    diagnoses: { events: brokerClient?.diagnose, results: backend?.diagnose, database: backend?.locate },
  });
  results?.start();
  queues?.start();

  /** What hints need to know of the queues. */
  function noteQueues(): void {
    observer.access('queues', queues?.problem() ?? null);
    observer.queues(queues?.depths() ?? []);
  }

  /** How reading went, for the hints. */
  function noteAccess(): void {
    observer.access('results', results?.progress().problem ?? null);
    observer.access('schedules', schedules.problem());
    observer.access('control', control?.problem() ?? null);
  }

  function queueDepths(): QueueDepth[] {
    const consumers = control?.inspection.queuesOf() ?? null;
    return (queues?.depths() ?? []).map((depth) => ({
      ...depth,
      consumers: consumers === null ? null : (consumers.get(depth.name) ?? 0),
    }));
  }

  return {
    collector,
    withTasks(tasks) {
      const known = results?.withLookup(tasks) ?? tasks;
      return queues === null ? known : withWaiting(known, queues, history.reader);
    },
    withWorkers: (workers) => control?.inspection.withInspection(workers) ?? workers,
    schedules: schedules.source,
    health: createHealth({
      name,
      reader: history.reader,
      collector,
      broker: brokerClient,
      backend,
      ping: control?.ping ?? null,
    }),
    components: componentsOf({
      options,
      broker: brokerClient,
      collector,
      hints: {
        ...hints,
        byComponent() {
          noteQueues();
          noteAccess();
          return hints.byComponent();
        },
      },
      dropped: intake.dropped,
      backend,
      results,
      queues: queueDepths,
      unreadableMessages: () => queues?.counts().unreadable ?? 0,
      control,
      beat: schedules.component,
    }),
    async close() {
      taskWatch?.close();
      results?.stop();
      queues?.stop();
      schedules.close();
      const readers = new Set([brokerReader, redbeatReader]);
      await Promise.all([hints.close(), control?.close(), brokerClient?.close()]);
      await backend?.close();
      await Promise.all([...readers].map((reader) => reader?.close()));
    },
  };
}
