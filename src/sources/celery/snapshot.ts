import type { ConnectionState } from '../../kept-connection.ts';
import type { BrokerWatch } from './broker-watch.ts';
import type { Collector } from './collector.ts';
import type { ControlProblem } from './control/failure.ts';
import type { WorkerControl } from './control/worker-control.ts';
import type { Hint } from './hint.ts';
import type { Hints } from './hints/hints.ts';
import type { Intake } from './intake.ts';
import type { Problem } from './problem.ts';
import type { Queues } from './queues/queues.ts';
import type { Results, ResultsProgress } from './results/results.ts';

/** The collector's knowledge about a deployment at one moment, apart from its history, as plain data. */
export interface DeploymentSnapshot {
  /** The connections that events and results arrive over; `null` without one. */
  readonly events: ConnectionState<Problem> | null;
  readonly results: ConnectionState<Problem> | null;
  /** Names of what is subscribed. */
  readonly channels: readonly string[];
  /** Messages received, and messages and events that could not be read. */
  readonly messages: number;
  readonly dropped: number;
  /** Progress of reading stored results; `null` without a readable result backend. */
  readonly stored: ResultsProgress | null;
  readonly queues: QueuesSnapshot;
  /** Why the broker accepts no writes; `null`: it accepts them, or unknown. */
  readonly readOnly: Problem | null;
  /** `null` where the host does not want remote control. */
  readonly control: ControlSnapshot | null;
  /** Which settings hide data; first what hides most. */
  readonly hints: readonly Hint[];
}

/** The queues as they were last read. */
export interface QueuesSnapshot {
  readonly rows: readonly QueueRow[];
  /** When they were read; `null` when they never were. */
  readonly asOf: Date | null;
  /** Whether the last reading succeeded. */
  readonly ok: boolean;
  /** Messages that could not be read. */
  readonly unreadable: number;
}

/** One queue; `null` where a figure is unknown. */
export interface QueueRow {
  readonly name: string;
  readonly waiting: number | null;
  readonly reserved: number | null;
  readonly consumers: number | null;
}

/** Remote control. */
export interface ControlSnapshot {
  /** Why the workers could not be asked the last time; `null` when they could, or were not. */
  readonly problem: ControlProblem | null;
  /** Whether a worker has ever answered. */
  readonly hasAnswered: boolean;
}

/** The parts from which a snapshot is made. */
export interface SnapshotParts {
  readonly collector: Collector;
  readonly intake: Intake;
  readonly brokerWatch: BrokerWatch | null;
  readonly hints: Hints;
  readonly control: WorkerControl | null;
  readonly queues: Queues | null;
  readonly results: Results | null;
}

/** The present state of all parts of the collector. */
export function snapshotOf(parts: SnapshotParts): DeploymentSnapshot {
  const { collector, intake, brokerWatch, hints, control, queues, results } = parts;
  return {
    events: collector.events?.state() ?? null,
    results: collector.results?.state() ?? null,
    channels: collector.channels,
    messages: collector.messages(),
    dropped: intake.dropped(),
    stored: results?.progress() ?? null,
    queues: {
      rows: rowsOf(queues, control),
      asOf: queues?.asOf() ?? null,
      ok: queues?.ok() ?? true,
      unreadable: queues?.counts().unreadable ?? 0,
    },
    readOnly: brokerWatch?.problem() ?? null,
    control:
      control === null
        ? null
        : { problem: control.problem(), hasAnswered: control.inspection.queuesOf() !== null },
    hints: hints.all(),
  };
}

/** Consumers come from the broker, or else from the workers' answers. */
function rowsOf(queues: Queues | null, control: WorkerControl | null): QueueRow[] {
  const consumers = control?.inspection.queuesOf() ?? null;
  return (queues?.depths() ?? []).map((row) => ({
    ...row,
    consumers: row.consumers ?? (consumers === null ? null : (consumers.get(row.name) ?? 0)),
  }));
}
