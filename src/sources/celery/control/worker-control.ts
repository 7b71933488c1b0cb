import type { CollectedHistory } from '../../../history/history.ts';
import type { WorkerHealthCheck } from '../../../model.ts';
import { isRecord } from '../../../values.ts';
import type { Mailbox } from '../broker.ts';
import type { Replies } from './broadcast.ts';
import { createControl } from './control.ts';
import { createEventEnabler } from './event-enabler.ts';
import type { ControlProblem } from './failure.ts';
import { createInspection, type Inspection } from './inspection.ts';
import { createPing } from './ping.ts';
import { createRunning, type Running } from './running.ts';

/** Everything that the workers of a deployment are asked. */
export interface WorkerControl {
  readonly inspection: Inspection;
  ping(signal: AbortSignal): Promise<WorkerHealthCheck | null>;
  running(): Promise<Running | null>;
  /** What each worker has configured; `null` when they could not be asked. */
  conf(): Promise<ReadonlyMap<string, Record<string, unknown>> | null>;
  /** To be called for each `worker-online`. */
  workerOnline(hostname: string): void;
  /** Why workers could not be asked the last time; `null` when they could, or were not. */
  problem(): ControlProblem | null;
  close(): Promise<void>;
}

/** Parameters of remote control. */
export interface WorkerControlOptions {
  readonly mailbox: Mailbox;
  readonly history: CollectedHistory;
  /** Whether the host wants events to be enabled. */
  readonly enableEvents: boolean;
  /** Called with the replies to every request. */
  readonly onReplies: (replies: Replies) => void;
}

/** Sends nothing before the first call, unless events are to be enabled. */
export function createWorkerControl(options: WorkerControlOptions): WorkerControl {
  const { mailbox, history, enableEvents, onReplies } = options;
  const bare = createControl({
    mailbox,
    known: () => history.index.checkWorkers().responding,
    mayEnableEvents: enableEvents,
  });
  const control: typeof bare = {
    ...bare,
    async ask(command, asking) {
      const replies = await bare.ask(command, asking);
      if (replies !== null) onReplies(replies);
      return replies;
    },
  };
  const inspection = createInspection(control, history);
  const ping = createPing(control, history);
  const running = createRunning(control, history);
  const enabler = enableEvents ? createEventEnabler(control) : null;

  return {
    inspection,
    ping,
    running: () => running(),
    async conf() {
      const replies = await control.ask('conf');
      if (replies === null) return null;
      const read = [...replies.values].filter((entry): entry is [string, Record<string, unknown>] => {
        const [, value] = entry;
        return isRecord(value);
      });
      return new Map(read);
    },
    workerOnline(hostname) {
      inspection.workerOnline(hostname);
      enabler?.workerOnline(hostname);
    },
    problem: bare.problem,
    async close() {
      inspection.close();
      enabler?.close();
      await bare.close();
    },
  };
}
