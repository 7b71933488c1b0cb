import { createSingleFlight, leaveOnAbort, type SingleFlight } from '../../../single-flight.ts';
import { isRecord } from '../../../values.ts';
import { controlProblemOf, type Mailbox } from '../broker.ts';
import type { Problem } from '../hint.ts';
import { type Broadcast, createBroadcaster, type Replies } from './broadcast.ts';
import type { ControlCommand, InspectCommand } from './encoder.ts';

/** For how long nothing is asked after the broker has refused a right, in milliseconds. */
const REFUSED_PAUSE_MS = 60_000;
/** For how long a ping decides who can be asked, in milliseconds. */
const PING_AGE_MS = 1000;

/** How to ask. */
interface AskOptions {
  /** For `ping`: how old replies may be, in milliseconds. Default 0. */
  readonly maxAgeMs?: number;
  /** Stops waiting. Others who wait for the same replies are not affected. */
  readonly signal?: AbortSignal;
}

/** Asks the workers of a deployment. Nothing here ever rejects. */
export type Control = ReturnType<typeof createControl>;

interface ControlState {
  readonly broadcast: Broadcast;
  readonly guarded: ReturnType<typeof createGuardedAsking>;
  /** Requests under way. */
  readonly requests: SingleFlight<Replies | null>;
  problem: Problem | null;
  /** Nothing is asked before this moment; monotonic, in milliseconds. */
  pausedUntil: number;
  lastPing: { readonly replies: Replies; readonly at: number } | null;
  closed: boolean;
}

/**
 * Remote control of the workers of one deployment.
 *
 * @param known names of the workers that are online, as far as is known without asking
 */
export function createControl(mailbox: Mailbox, known: () => readonly string[]) {
  const { fault } = mailbox;
  const broadcast = createBroadcaster(mailbox, known);
  const state: ControlState = {
    broadcast,
    guarded: createGuardedAsking(broadcast),
    requests: createSingleFlight(),
    problem: fault,
    pausedUntil: fault === null ? 0 : Number.POSITIVE_INFINITY,
    lastPing: null,
    closed: false,
  };
  return {
    /**
     * Asks every worker that can answer in JSON. Concurrent calls for the same command share one request.
     * Resolves as soon as all workers have answered.
     *
     * @returns `null` if the workers could not be asked; see `problem`
     */
    ask: (command: InspectCommand, options?: AskOptions) => ask(state, command, options),
    /** Makes every worker send task events, which changes what they do. @returns as `ask` */
    enableEvents: () => ask(state, 'enable_events'),
    /** To be called for each `worker-online`: a new process may have another configuration. */
    workerOnline(hostname: string) {
      state.lastPing = null;
      state.guarded.forget(hostname);
    },
    /** Why the last request could not be sent; `null` when it could, or when none was. */
    problem: () => state.problem,
    /** Removes what was created in the broker and closes the connections. Resolves within about two seconds. */
    async close() {
      state.closed = true;
      await mailbox.close();
    },
  };
}

async function ask(
  state: ControlState,
  command: ControlCommand,
  { maxAgeMs = 0, signal }: AskOptions = {},
): Promise<Replies | null> {
  const now = performance.now();
  if (state.closed || now < state.pausedUntil || signal?.aborted === true) return null;
  const { lastPing, requests } = state;
  if (command === 'ping' && lastPing !== null && now - lastPing.at < maxAgeMs) return lastPing.replies;
  const start = () => ({ result: sendOrExplain(state, command) });
  // The request itself never fails: only this caller stops waiting.
  return requests.run(command, start, signal && leaveOnAbort(signal)).catch(() => null);
}

async function sendOrExplain(state: ControlState, command: ControlCommand): Promise<Replies | null> {
  try {
    const replies = await send(state, command);
    if (replies !== null) state.problem = null;
    return replies;
  } catch (error) {
    state.problem = controlProblemOf(error);
    if (state.problem.missingRights != null) state.pausedUntil = performance.now() + REFUSED_PAUSE_MS;
    return null;
  }
}

async function send(state: ControlState, command: ControlCommand): Promise<Replies | null> {
  if (command === 'enable_events') return state.broadcast(command);
  if (command === 'ping') {
    const replies = await state.broadcast(command);
    state.lastPing = { replies, at: performance.now() };
    return replies;
  }
  const ping = await ask(state, 'ping', { maxAgeMs: PING_AGE_MS });
  return ping === null ? null : state.guarded.ask(command, ping);
}

/** How long a worker's configuration counts as known in milliseconds, unless the worker comes online again. */
const PROOF_AGE = 60_000;
const MAX_PROOFS = 5000;

/** @param broadcast sends a request */
function createGuardedAsking(broadcast: Broadcast) {
  const proofs = new Map<
    string,
    Proof & {
      readonly until: number;
    }
  >();

  async function ask(command: Exclude<InspectCommand, 'ping'>, ping: Replies): Promise<Replies> {
    const readers = readersIn(ping);
    const allowed = await allowedOf(command, readers);
    if (allowed.length === 0)
      return { ...ping, values: new Map(), isComplete: countOf(ping) === 0 && ping.isComplete };
    const replies = await broadcast(command, allowed);
    if (command === 'conf') learn(replies);
    const isComplete = replies.isComplete && ping.isComplete && allowed.length === countOf(ping);
    return { ...replies, isComplete };
  }

  async function allowedOf(command: InspectCommand, workers: string[]): Promise<string[]> {
    const needed = NEEDED[command];
    if (needed === undefined) return workers;
    const now = performance.now();
    const unproven = workers.filter((worker) => !((proofs.get(worker)?.until ?? 0) > now));
    if (unproven.length > 0) learn(await broadcast('conf', unproven));
    return workers.filter((worker) => {
      const proof = proofs.get(worker);
      return proof !== undefined && proof.until > now && proof[needed];
    });
  }

  function learn(replies: Replies): void {
    const until = performance.now() + PROOF_AGE;
    for (const [worker, conf] of replies.values) {
      if (proofs.size >= MAX_PROOFS && !proofs.has(worker)) proofs.clear();
      proofs.set(worker, { ...proofOf(conf), until });
    }
  }

  return {
    /** @param ping the replies to a ping of a moment ago */
    ask /** A worker may have another configuration now. */,
    forget: (worker: string) => void proofs.delete(worker),
  };
}

/** Workers that answered the ping in JSON. */
function readersIn(ping: Replies): string[] {
  return [...ping.values].filter(([, value]) => value !== null).map(([worker]) => worker);
}

function countOf({ values, unnamed }: Replies): number {
  return values.size + unnamed;
}

/**
 * What a worker that answers in JSON can be asked, by its configuration. A reply that a worker cannot encode is worse
 * than none: Celery 5.2 then resets its mailbox and takes no more tasks until it is restarted, and so do all workers
 * that received the same request. The reply to `conf` itself always can be encoded (`jsonify` in
 * celery/utils/serialization.py).
 */
type Proof = Readonly<Record<'stats' | 'items', boolean>>;

/** Commands whose replies may contain objects of the app, and what must be proven before one of them is sent. */
const NEEDED: Partial<Record<InspectCommand, keyof Proof>> = {
  // Transport options as they are.
  stats: 'stats',
  // Arguments of tasks as they are.
  reserved: 'items',
};

/** The endings of the settings that matter, whatever prefix and case the app uses. */
const ACCEPTED = 'accept_content';
const BROKER = [
  'broker_transport_options',
  'broker_use_ssl',
  'broker_failover_strategy',
  'broker_login_method',
];
const JSON_NAMES: readonly unknown[] = ['json', 'application/json'];

/** What Celery shows for a setting whose name sounds like a secret. */
const MASK = '********';
const MAX_DEPTH = 8;

/** @param conf the worker's answer to `conf`, which leaves out defaults: JSON alone, no options */
function proofOf(conf: unknown): Proof {
  if (!isRecord(conf)) return { stats: false, items: false };
  let stats = true;
  let items = true;
  for (const [key, value] of Object.entries(conf)) {
    const name = key.toLowerCase();
    if (name.endsWith(ACCEPTED) && !name.endsWith(`result_${ACCEPTED}`)) items &&= isJsonAlone(value);
    if (BROKER.some((setting) => name.endsWith(setting))) stats &&= isPlain(value, name, 0);
  }
  return { stats, items };
}

function isJsonAlone(value: unknown): boolean {
  return value === null || (Array.isArray(value) && value.every((type) => JSON_NAMES.includes(type)));
}

/** Whether a value is plain data; objects are shown as their reprs. */
function isPlain(value: unknown, key: string, depth: number): boolean {
  if (typeof value === 'string') return isPlainText(value, key);
  if (typeof value !== 'object' || value === null) return true;
  if (depth >= MAX_DEPTH) return false;
  if (Array.isArray(value)) return value.every((item) => isPlain(item, key, depth + 1));
  return Object.entries(value).every(([name, member]) => isPlain(member, name.toLowerCase(), depth + 1));
}

function isPlainText(text: string, key: string): boolean {
  if (text === MASK) return /(?:key|prefix|file|password|username)$/.test(key);
  return key === 'fanout_prefix' || !/[<({]|^b['"]/.test(text);
}
