/**
 * Asks each worker only what it can answer. Every worker can answer a ping, which shows which workers answer in JSON;
 * other workers are not asked anything more.
 */
import { isRecord } from '../../../values.ts';
import type { Broadcast, Replies } from './broadcast.ts';
import type { InspectCommand } from './encoder.ts';

/** How long a worker's configuration counts as known in milliseconds, unless the worker comes online again. */
const PROOF_AGE = 60_000;
const MAX_PROOFS = 5000;

interface Known extends Proof {
  readonly until: number;
}

/** Asks workers what they can answer. */
export interface GuardedAsking {
  /** @param ping the replies to a ping of a moment ago */
  ask(command: Exclude<InspectCommand, 'ping'>, ping: Replies, timeoutMs: number): Promise<Replies>;
  /** A worker may have another configuration now. */
  forget(worker: string): void;
}

/** @param broadcast sends a request */
export function createGuardedAsking(broadcast: Broadcast): GuardedAsking {
  const proofs = new Map<string, Known>();

  async function ask(
    command: Exclude<InspectCommand, 'ping'>,
    ping: Replies,
    timeoutMs: number,
  ): Promise<Replies> {
    const readers = readersIn(ping);
    const allowed = await allowedOf(command, readers, timeoutMs);
    if (allowed.length === 0)
      return { ...ping, values: new Map(), isComplete: countOf(ping) === 0 && ping.isComplete };
    const replies = await broadcast(command, timeoutMs, allowed);
    if (command === 'conf') learn(replies);
    const isComplete = replies.isComplete && ping.isComplete && allowed.length === countOf(ping);
    return { ...replies, isComplete };
  }

  async function allowedOf(command: InspectCommand, workers: string[], timeoutMs: number): Promise<string[]> {
    const needed = proofFor(command);
    if (needed === null) return workers;
    const now = performance.now();
    const unproven = workers.filter((worker) => !((proofs.get(worker)?.until ?? 0) > now));
    if (unproven.length > 0) learn(await broadcast('conf', timeoutMs, unproven));
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

  return { ask, forget: (worker) => void proofs.delete(worker) };
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

/** Commands whose replies may contain objects of the app. */
const NEEDED: Partial<Record<InspectCommand, keyof Proof>> = {
  // Transport options as they are.
  stats: 'stats',
  // Arguments of tasks as they are.
  reserved: 'items',
  scheduled: 'items',
};

/** What must be proven before this command is sent; `null`: nothing. */
function proofFor(command: InspectCommand): keyof Proof | null {
  return NEEDED[command] ?? null;
}

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
