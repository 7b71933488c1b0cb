import type { CollectedHistory } from '../../../history/history.ts';
import type { WorkerHealthCheck } from '../../../model.ts';
import { isRecord } from '../../../values.ts';
import type { Mailbox } from '../broker.ts';
import type { Replies } from './broadcast.ts';
import { type Control, createControl } from './control.ts';
import { createInspection } from './inspection.ts';
import { createRunning } from './running.ts';

/** Everything that the workers of a deployment are asked. */
export type WorkerControl = ReturnType<typeof createWorkerControl>;

/** Sends nothing before the first call, unless events are to be enabled. */
export function createWorkerControl(options: {
  readonly mailbox: Mailbox;
  readonly history: CollectedHistory;
  /** Whether the host wants events to be enabled. */
  readonly enableEvents: boolean;
  /** Called with the replies to every request. */
  readonly onReplies: (replies: Replies) => void;
}) {
  const { mailbox, history, enableEvents, onReplies } = options;
  const bare = createControl(mailbox, () => history.index.checkWorkers().responding);
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
    running,
    /** What each worker has configured; `null` when they could not be asked. */
    async conf() {
      const replies = await control.ask('conf');
      if (replies === null) return null;
      return new Map(
        [...replies.values].flatMap(([name, value]) => (isRecord(value) ? [[name, value] as const] : [])),
      );
    },
    /** To be called for each `worker-online`. */
    workerOnline(hostname: string) {
      inspection.workerOnline(hostname);
      enabler?.workerOnline(hostname);
    },
    /** Why workers could not be asked the last time; `null` when they could, or were not. */
    problem: bare.problem,
    async close() {
      inspection.close();
      enabler?.close();
      await bare.close();
    },
  };
}

/** How long the answers to a ping are reused, in milliseconds. */
const REUSE = 1000;

const NOBODY = 'No worker has answered a ping.';

/**
 * Checks the workers by a ping. A worker that has never answered one (`worker_enable_remote_control` is
 * off) is judged by its heartbeats.
 *
 * @returns a function that resolves to `null` when the workers could not be asked; heartbeats decide then
 */
function createPing(control: Control, history: CollectedHistory) {
  /** Workers that have ever answered; those that the history has forgotten are removed. */
  const answerers = new Set<string>();
  let last: Replies | null = null;

  async function ask(signal: AbortSignal): Promise<Replies | null> {
    const replies = await control.ask('ping', { maxAgeMs: REUSE, signal });
    if (replies === null || replies === last) return replies;
    last = replies;
    const time = Date.now();
    for (const hostname of replies.values.keys()) {
      answerers.add(hostname);
      history.writer.recordWorker({ hostname, type: 'reply', time });
    }
    return replies;
  }

  return async function pingWorkers(signal: AbortSignal): Promise<WorkerHealthCheck | null> {
    const replies = await ask(signal);
    if (replies === null) return null;
    const { responding: beating, missing: silent } = history.index.checkWorkers();
    const responding = new Set(replies.values.keys());
    const missing = new Set<string>();
    for (const name of beating) if (!answerers.has(name)) responding.add(name);
    for (const name of [...beating, ...silent]) if (!responding.has(name)) missing.add(name);
    for (const name of answerers) if (!missing.has(name) && !responding.has(name)) answerers.delete(name);
    const ok = responding.size + replies.unnamed > 0;
    return {
      ok,
      error: ok ? null : NOBODY,
      responding: [...responding].sort(),
      missing: [...missing].sort(),
    };
  };
}

/** All in milliseconds. A worker reports that it is online a moment before it listens. */
const FIRST_PAUSE = 500;
const NEXT_PAUSE = 2000;
const OFF_PAUSE = 10_000;
const MAX_ATTEMPTS = 5;
const MAX_WAITING = 10_000;

/** Asks all workers to send task events, and again when one comes online. */
function createEventEnabler(control: Control) {
  /** Workers that have not yet confirmed it, and how often they were asked. */
  const waiting = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;
  let isAsked = false;
  let closed = false;

  function schedule(ms: number): void {
    if (closed || timer !== undefined) return;
    timer = setTimeout(() => void attempt(), ms).unref();
  }

  async function attempt(): Promise<void> {
    const asked = [...waiting.keys()];
    const replies = await control.enableEvents();
    timer = undefined;
    if (replies === null) return schedule(OFF_PAUSE);
    isAsked = true;
    for (const name of asked) {
      const attempts = (waiting.get(name) ?? 0) + 1;
      if (replies.values.has(name) || attempts >= MAX_ATTEMPTS) waiting.delete(name);
      else waiting.set(name, attempts);
    }
    if (waiting.size > 0) schedule(NEXT_PAUSE);
  }

  schedule(0);
  return {
    /** To be called for each `worker-online`: a worker that restarts or reconnects forgets it. */
    workerOnline(hostname: string) {
      if (waiting.size < MAX_WAITING) waiting.set(hostname, 0);
      // The first attempt includes the workers that come online before it.
      if (isAsked) schedule(FIRST_PAUSE);
    },
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}
