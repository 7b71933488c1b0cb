import { createSingleFlight, leaveOnAbort, type SingleFlight } from '../../../single-flight.ts';
import type { Mailbox } from '../broker.ts';
import { type Broadcast, createBroadcaster, type Replies } from './broadcast.ts';
import type { ControlCommand, InspectCommand } from './encoder.ts';
import { type ControlProblem, controlProblemOf } from './failure.ts';
import { createGuardedAsking, type GuardedAsking } from './guarded-asking.ts';

/** How long workers may take to answer, in milliseconds; Celery's own default. */
const TIMEOUT_MS = 1000;
/** For how long nothing is asked after the broker has refused a right, in milliseconds. */
const REFUSED_PAUSE_MS = 60_000;
/** For how long a ping decides who can be asked, in milliseconds. */
const PING_AGE_MS = 1000;

/** Parameters of remote control. */
export interface ControlOptions {
  readonly mailbox: Mailbox;
  /** Names of the workers that are online, as far as is known without asking. */
  readonly known: () => readonly string[];
  /** Whether `enableEvents` may be sent: it changes what the workers do. Default false. */
  readonly mayEnableEvents?: boolean;
  /** For tests, see {@link createBroadcaster}. */
  readonly graceMs?: number;
}

/** How to ask. */
export interface AskOptions {
  /** How long to wait for replies, in milliseconds; the first caller decides. Default 1,000. */
  readonly timeoutMs?: number;
  /** For `ping`: how old replies may be, in milliseconds. Default 0. */
  readonly maxAgeMs?: number;
  /** Stops waiting. Others who wait for the same replies are not affected. */
  readonly signal?: AbortSignal;
}

/** Asks the workers of a deployment. Nothing here ever rejects. */
export interface Control {
  /**
   * Asks every worker that can answer in JSON. Concurrent calls for the same command share one request.
   * Resolves as soon as all workers have answered.
   *
   * @returns `null` if the workers could not be asked; see `problem`
   */
  ask(command: InspectCommand, options?: AskOptions): Promise<Replies | null>;
  /** Makes every worker send task events. @returns `null` also when the host did not allow it */
  enableEvents(options?: AskOptions): Promise<Replies | null>;
  /** To be called for each `worker-online`: a new process may have another configuration. */
  workerOnline(hostname: string): void;
  /** Why the last request could not be sent; `null` when it could, or when none was. */
  problem(): ControlProblem | null;
  /** Removes what was created in the broker and closes the connections. Resolves within about two seconds. */
  close(): Promise<void>;
}

interface ControlState {
  readonly broadcast: Broadcast;
  readonly guarded: GuardedAsking;
  /** Requests under way. */
  readonly requests: SingleFlight<Replies | null>;
  problem: ControlProblem | null;
  /** Nothing is asked before this moment; monotonic, in milliseconds. */
  pausedUntil: number;
  lastPing: { readonly replies: Replies; readonly at: number } | null;
  closed: boolean;
}

/** Remote control of the workers of one deployment. */
export function createControl({ mailbox, known, mayEnableEvents = false, graceMs }: ControlOptions): Control {
  const { fault } = mailbox;
  const broadcast = createBroadcaster(mailbox, known, graceMs);
  const state: ControlState = {
    broadcast,
    guarded: createGuardedAsking(broadcast),
    requests: createSingleFlight(),
    problem: fault === null ? null : { ...fault, missingRights: fault.missingRights ?? null },
    pausedUntil: fault === null ? 0 : Number.POSITIVE_INFINITY,
    lastPing: null,
    closed: false,
  };
  return {
    ask: (command, options) => ask(state, command, options),
    enableEvents: async (options) => (mayEnableEvents ? ask(state, 'enable_events', options) : null),
    workerOnline(hostname) {
      state.lastPing = null;
      state.guarded.forget(hostname);
    },
    problem: () => state.problem,
    async close() {
      state.closed = true;
      await mailbox.close();
    },
  };
}

async function ask(
  state: ControlState,
  command: ControlCommand,
  { timeoutMs = TIMEOUT_MS, maxAgeMs = 0, signal }: AskOptions = {},
): Promise<Replies | null> {
  const now = performance.now();
  if (state.closed || now < state.pausedUntil || signal?.aborted === true) return null;
  const { lastPing, requests } = state;
  if (command === 'ping' && lastPing !== null && now - lastPing.at < maxAgeMs) return lastPing.replies;
  const start = () => ({ result: sendOrExplain(state, command, timeoutMs) });
  // The request itself never fails: only this caller stops waiting.
  return requests.run(command, start, signal && leaveOnAbort(signal)).catch(() => null);
}

async function sendOrExplain(
  state: ControlState,
  command: ControlCommand,
  timeoutMs: number,
): Promise<Replies | null> {
  try {
    const replies = await send(state, command, timeoutMs);
    if (replies !== null) state.problem = null;
    return replies;
  } catch (error) {
    state.problem = controlProblemOf(error);
    if (state.problem.missingRights !== null) state.pausedUntil = performance.now() + REFUSED_PAUSE_MS;
    return null;
  }
}

async function send(
  state: ControlState,
  command: ControlCommand,
  timeoutMs: number,
): Promise<Replies | null> {
  if (command === 'enable_events') return state.broadcast(command, timeoutMs);
  if (command === 'ping') {
    const replies = await state.broadcast(command, timeoutMs);
    state.lastPing = { replies, at: performance.now() };
    return replies;
  }
  const ping = await ask(state, 'ping', { timeoutMs, maxAgeMs: PING_AGE_MS });
  return ping === null ? null : state.guarded.ask(command, ping, timeoutMs);
}
