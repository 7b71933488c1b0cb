import type { ConnectionState } from './connection-state.ts';
import type { ControlProblem } from './control/failure.ts';
import type { HintComponent } from './hints/hint.ts';
import type { ResultsProgress } from './results/results.ts';

/** What the collector knows about a deployment at one moment, beside its history: plain data. */
export interface DeploymentSnapshot {
  /** The connections that events and results arrive over; `null` without one. */
  readonly events: ConnectionState | null;
  readonly results: ConnectionState | null;
  /** Names of what is subscribed. */
  readonly channels: readonly string[];
  /** Messages received, and messages and events that could not be read. */
  readonly messages: number;
  readonly dropped: number;
  /** How far reading stored results has come; `null` without a result backend that can be read. */
  readonly stored: ResultsProgress | null;
  readonly queues: QueuesSnapshot;
  /** `null` where the host does not want remote control. */
  readonly control: ControlSnapshot | null;
  /** Which settings hide data, by component. */
  readonly hints: Readonly<Record<HintComponent, readonly string[]>>;
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
