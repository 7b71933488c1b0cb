import type { RedisEndpoint } from '../../../redis/endpoint.ts';
import { createRedisReader } from '../../../redis/reader.ts';
import type { CelerySettings } from '../settings.ts';
import { controlAddress } from './address.ts';
import { type Broadcast, createBroadcaster, type Replies } from './broadcast.ts';
import type { ControlCommand, InspectCommand } from './encoder.ts';
import { type ControlProblem, failureOf } from './failure.ts';
import { createGuardedAsking, type GuardedAsking } from './guarded-asking.ts';
import { createMailbox, type Mailbox } from './mailbox.ts';

/** Milliseconds for which workers may answer; Celery's own default. */
const TIMEOUT = 1000;
/** Milliseconds for which nothing is asked after Redis has refused. */
const OFF = 60_000;
/** Milliseconds for which a ping tells who can be asked. */
const PING_AGE = 1000;

/** What remote control needs. */
export interface ControlOptions {
  /** The broker. Two connections are made to it when something is first asked. */
  readonly endpoint: RedisEndpoint;
  readonly settings: CelerySettings;
  /** Names of the workers that are online, as far as is known without asking. */
  readonly known: () => readonly string[];
  /** Whether `enableEvents` may be sent: it changes what the workers do. */
  readonly mayEnableEvents?: boolean;
}

/** How something is asked. */
export interface AskOptions {
  /** Milliseconds for which to wait for answers; of who asks first. Default 1,000. */
  readonly timeoutMs?: number;
  /** Of `ping`: how old answers may be, in milliseconds. Default 0. */
  readonly maxAgeMs?: number;
  /** Stops waiting; whoever else waits for the same goes on. */
  readonly signal?: AbortSignal;
}

/** Asks the workers of a deployment. Nothing here ever rejects. */
export interface Control {
  /**
   * Asks every worker that can answer it in JSON, once for all who ask the same at the same time, and
   * answers as soon as all have answered.
   *
   * @returns `null` when they could not be asked; `problem` tells why
   */
  ask(command: InspectCommand, options?: AskOptions): Promise<Replies | null>;
  /** Makes every worker send task events. @returns `null` also when the host did not allow it */
  enableEvents(options?: AskOptions): Promise<Replies | null>;
  /** To be called for each `worker-online`: a new process may have another configuration. */
  workerOnline(hostname: string): void;
  /** Why the last question could not be asked; `null` when it could, or none was. */
  problem(): ControlProblem | null;
  /** Removes what it has in Redis and closes its connections. Resolves within about two seconds. */
  close(): Promise<void>;
}

/** Remote control of the workers of one deployment. */
export function createControl(options: ControlOptions): Control {
  const { endpoint, settings, known } = options;
  const address = controlAddress(settings, endpoint.database);
  const flights = new Map<ControlCommand, Promise<Replies | null>>();
  let problem: ControlProblem | null =
    address.fault === null ? null : { code: 'UNSAFE', sentence: address.fault, missingRights: null };
  let offUntil = address.fault === null ? 0 : Number.POSITIVE_INFINITY;
  let mailbox: Mailbox | null = null;
  let means: { readonly broadcast: Broadcast; readonly guarded: GuardedAsking } | null = null;
  let lastPing: { readonly replies: Replies; readonly at: number } | null = null;
  let closed = false;

  function opened(): NonNullable<typeof means> {
    if (means === null) {
      const commands = createRedisReader('remote control', endpoint);
      const waiting = createRedisReader('remote control replies', endpoint);
      mailbox = createMailbox(address, commands, waiting, known);
      const broadcast = createBroadcaster(mailbox, known);
      means = { broadcast, guarded: createGuardedAsking(broadcast) };
    }
    return means;
  }

  async function send(command: ControlCommand, timeoutMs: number): Promise<Replies | null> {
    if (command === 'enable_events') return opened().broadcast(command, timeoutMs);
    if (command === 'ping') {
      const replies = await opened().broadcast(command, timeoutMs);
      lastPing = { replies, at: performance.now() };
      return replies;
    }
    const ping = await ask('ping', { timeoutMs, maxAgeMs: PING_AGE });
    return ping === null ? null : opened().guarded.ask(command, ping, timeoutMs);
  }

  async function fly(command: ControlCommand, timeoutMs: number): Promise<Replies | null> {
    try {
      const replies = await send(command, timeoutMs);
      if (replies !== null) problem = null;
      return replies;
    } catch (error) {
      problem = failureOf(error, 'PUBLISH', address).problem;
      if (problem.missingRights !== null) offUntil = performance.now() + OFF;
      return null;
    }
  }

  async function ask(command: ControlCommand, asking: AskOptions = {}): Promise<Replies | null> {
    const { timeoutMs = TIMEOUT, maxAgeMs = 0, signal } = asking;
    const now = performance.now();
    if (closed || now < offUntil || signal?.aborted === true) return null;
    if (command === 'ping' && lastPing !== null && now - lastPing.at < maxAgeMs) return lastPing.replies;
    let flight = flights.get(command);
    if (flight === undefined) {
      flight = fly(command, timeoutMs);
      flights.set(command, flight);
      void flight.then(() => flights.delete(command));
    }
    return signal === undefined ? flight : await unlessAborted(flight, signal);
  }

  return {
    ask,
    enableEvents: async (asking) => (options.mayEnableEvents === true ? ask('enable_events', asking) : null),
    workerOnline(hostname) {
      lastPing = null;
      means?.guarded.forget(hostname);
    },
    problem: () => problem,
    async close() {
      closed = true;
      await mailbox?.close();
    },
  };
}

/** The promise, or `null` as soon as the signal says so. */
function unlessAborted<T>(promise: Promise<T | null>, signal: AbortSignal): Promise<T | null> {
  return new Promise((resolve) => {
    const leave = (): void => resolve(null);
    signal.addEventListener('abort', leave, { once: true });
    void promise.then(resolve).finally(() => signal.removeEventListener('abort', leave));
  });
}
