/** The parts of a collection that the options enable. */
import type { History } from '../../history/history.ts';
import type { Redactor } from '../../redact.ts';
import type { Broker } from './broker.ts';
import { createWorkerControl, type WorkerControl } from './control/worker-control.ts';
import type { Observer } from './hints/observer.ts';
import type { Lineage } from './lineage/lineage.ts';
import { createQueues, type Queues, type QueueWatch } from './queues/queues.ts';
import type { OnReady } from './readiness.ts';
import type { ResultBackend } from './result-backend.ts';
import type { KeptTasks } from './results/kept-tasks.ts';
import { createResults, type Results } from './results/results.ts';
import type { DjangoReader } from './schedules/django/django-reader.ts';
import type { RedbeatPlace } from './schedules/redbeat-schedule.ts';
import type { CelerySettings } from './settings.ts';

/** What is collected, and from where. */
export interface CollectionOptions {
  readonly name: string;
  readonly settings: CelerySettings;
  /** `null` where the broker cannot be read. */
  readonly broker: Broker | null;
  /** `null` without a result backend that can be read. */
  readonly backend: ResultBackend | null;
  readonly redbeat: RedbeatPlace;
  /** Reads the schedule of django-celery-beat; `null` without a database. */
  readonly django: DjangoReader | null;
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
  /** Called once everything is connected. Default: nothing is called. */
  readonly onReady?: OnReady | null;
  /** The content of the store. Default: there is no store. */
  readonly kept?: KeptTasks | null;
}

/** `null` where the host does not want it, or the broker offers none. */
export function controlOf(
  options: CollectionOptions,
  history: History,
  observer: Observer,
): WorkerControl | null {
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
export function queuesOf(
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
export function resultsOf(
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
