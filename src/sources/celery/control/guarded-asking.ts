/**
 * Asks each worker only what it can answer. Every worker can answer a ping, which shows which workers answer in JSON;
 * other workers are not asked anything more.
 */
import type { Broadcast, Replies } from './broadcast.ts';
import type { InspectCommand } from './encoder.ts';
import { type Proof, proofFor, proofOf } from './proof.ts';

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
