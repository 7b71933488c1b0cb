/** Reads from one Redis or cluster over one client. Every wait has an end, whatever the client does. */
import { debugChannel } from '../debug.ts';
import type { RedisCommand, RedisCommander, Settled } from './client.ts';
import { withDeadline } from './deadline.ts';
import { createGate } from './gate.ts';
import { describeError, isOutage, RedisError, type RedisProblem, redisError } from './problems.ts';
import type { ReadOptions } from './reader.ts';

/** How a link is doing. Times in milliseconds since 1970. */
export interface LinkState {
  /** False since the last attempt failed for a reason that is not the command's own. True before any attempt. */
  readonly ok: boolean;
  /** When Redis last answered; `null` if it never did. */
  readonly asOf: number | null;
  /** Why `ok` is false. */
  readonly problem: RedisProblem | null;
}

/** What one master of a cluster answered; its address is empty where it is not known. */
export interface MasterReply {
  readonly master: string;
  readonly reply: unknown;
}

/** One Redis, or one cluster. */
export interface RedisLink {
  /**
   * Sends commands in this order, up to 500 in one write. One that finds a key of another type is answered
   * with `null`, as if the key were absent. Never give it one that blocks or writes: the client may be the
   * host's own. In a cluster, the keys of one call must be of one slot, as those of one queue are.
   *
   * @throws RedisError when Redis is away, late, or refuses one of them
   */
  commands(list: readonly RedisCommand[], options?: ReadOptions): Promise<unknown[]>;
  /** The same for one command. */
  command(command: RedisCommand, options?: ReadOptions): Promise<unknown>;
  /**
   * One command to each master of a cluster, or to the one server, for what concerns a whole server.
   *
   * @param commandFor what to send to the master of this address; `null`: nothing
   */
  onEachMaster(
    commandFor: (master: string) => RedisCommand | null,
    options?: ReadOptions,
  ): Promise<readonly MasterReply[]>;
  /** Asks for a sign of life: what is wrong, or `null`. Never rejects. */
  check(signal?: AbortSignal): Promise<RedisProblem | null>;
  /** Whether it is a cluster, which is known once there is a client. */
  isCluster(options?: ReadOptions): Promise<boolean>;
  /** As `redis://host:6379/0`, without user and password, of the last client; `null` when not known. */
  address(): string | null;
  state(): LinkState;
  /** Ends the client if it is our own; later commands are refused. */
  close(): void;
}

/** Where a link gets its client from. */
export interface LinkOptions {
  /** The client, connected or not. Asked again after it rejected, and after {@link LinkOptions.drop}. */
  open(): Promise<RedisCommander>;
  /** Called when the client is of no more use: it was silent or is gone. For our own clients only. */
  drop?(): void;
}

// All in milliseconds.
/** Below the router's own limit, so that an outage is told apart from a slow read. */
const TIMEOUT = 4_000;
/** Somebody who leaves before this has learnt nothing of Redis. */
const PATIENCE = 1_500;
/** How long a client that has not been up yet is waited for: BullMQ's own never settle while Redis is away. */
const OPENING = 2_000;

/** Commands that may wait for their replies at a time, also those that nobody waits for any more. */
const MOST_UNDER_WAY = 4_000;
const MOST_AT_ONCE = 500;

const debug = debugChannel('bullmq');

export function createRedisLink({ open, drop }: LinkOptions): RedisLink {
  let commander: RedisCommander | null = null;
  let address: string | null = null;
  let unwatch: (() => void) | null = null;
  let state: LinkState = { ok: true, asOf: null, problem: null };
  let closed = false;
  const gate = createGate(MOST_UNDER_WAY);
  const waiters = new Set<(up: boolean) => void>();

  function adopt(opened: RedisCommander): RedisCommander {
    if (commander?.client === opened.client) return commander;
    unwatch?.();
    commander = opened;
    address = opened.address() ?? address;
    unwatch = opened.watch((up) => {
      for (const waiter of [...waiters]) waiter(up);
      if (!up && drop !== undefined && commander === opened) forget();
    });
    return opened;
  }

  function forget(): void {
    unwatch?.();
    unwatch = null;
    commander = null;
    drop?.();
  }

  /** Rejects as soon as the client has lost its connection. */
  function unlessLost<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const waiter = (up: boolean): void => {
        if (!up) reject(redisError(closed ? 'CLOSED' : 'LOST'));
      };
      waiters.add(waiter);
      promise.then(resolve, reject).finally(() => waiters.delete(waiter));
    });
  }

  function up(opened: RedisCommander, ms: number, signal: AbortSignal | undefined): Promise<void> {
    // One that was up before and is not now is down: whoever asks shall hear it at once.
    if (opened.isUp()) return Promise.resolve();
    if (state.asOf !== null) return Promise.reject(redisError('LOST'));
    let waiter: (isUp: boolean) => void = () => {};
    const risen = new Promise<void>((resolve) => {
      waiter = (isUp) => isUp && resolve();
      waiters.add(waiter);
    });
    return withDeadline(risen, signal, ms).finally(() => waiters.delete(waiter));
  }

  async function ready(timeoutMs: number, signal: AbortSignal | undefined): Promise<RedisCommander> {
    const ms = Math.min(timeoutMs, OPENING);
    const opened = commander ?? adopt(await withDeadline(open(), signal, ms));
    await up(opened, ms, signal);
    return opened;
  }

  /** A part at a time, so that the commands of the host's own find their way in between. */
  async function sendTo(
    target: RedisCommander,
    list: readonly RedisCommand[],
    isWanted: () => boolean,
  ): Promise<readonly Settled[]> {
    const settled: Settled[] = [];
    for (let from = 0; from < list.length && isWanted(); from += MOST_AT_ONCE) {
      const part = list.slice(from, from + MOST_AT_ONCE);
      await gate.enter(part.length, isWanted);
      try {
        settled.push(...(await target.send(part)));
      } finally {
        gate.leave(part.length);
      }
    }
    return settled;
  }

  /** @param send gives the commands to the client */
  async function run<T>(
    { signal, timeoutMs = TIMEOUT }: ReadOptions,
    send: (opened: RedisCommander, isWanted: () => boolean) => Promise<T>,
  ): Promise<T> {
    if (closed) throw redisError('CLOSED');
    const asked = Date.now();
    let wanted = true;
    try {
      const opened = await ready(timeoutMs, signal);
      if (closed) throw redisError('CLOSED');
      const sent = await withDeadline(unlessLost(send(opened, () => wanted)), signal, timeoutMs);
      state = { ok: true, asOf: asked, problem: null };
      return sent;
    } catch (error) {
      throw failed(error, signal?.aborted === true && Date.now() - asked < PATIENCE);
    } finally {
      wanted = false;
    }
  }

  function failed(error: unknown, leftEarly = false): RedisError {
    const problem = closed ? redisError('CLOSED').problem : describeError(error);
    if (!closed && !leftEarly && isOutage(problem)) {
      if (state.ok) debug('Redis is away: %s', problem.sentence);
      state = { ok: false, asOf: state.asOf, problem };
      if (drop !== undefined) forget();
    }
    return new RedisError(problem);
  }

  function replyOf(settled: Settled): unknown {
    if ('reply' in settled) return settled.reply;
    const problem = describeError(settled.error);
    if (problem.code === 'WRONGTYPE' || problem.code === 'NOKEY') return null;
    throw failed(settled.error);
  }

  async function commands(list: readonly RedisCommand[], options: ReadOptions = {}): Promise<unknown[]> {
    if (list.length === 0) return [];
    const settled = await run(options, (opened, isWanted) => sendTo(opened, list, isWanted));
    return settled.map(replyOf);
  }

  return {
    commands,
    async command(command, options) {
      const [reply] = await commands([command], options);
      return reply;
    },
    async onEachMaster(commandFor, options = {}) {
      const answers = await run(options, (opened, isWanted) =>
        Promise.all(
          opened.masters().flatMap((commander) => {
            const master = commander.address() ?? '';
            const command = commandFor(master);
            return command === null
              ? []
              : [sendTo(commander, [command], isWanted).then(([first]) => ({ master, first }))];
          }),
        ),
      );
      return answers.map(({ master, first }) => ({
        master,
        reply: first === undefined ? null : replyOf(first),
      }));
    },
    check: (signal) => commands([['PING']], { signal }).then(() => null, describeError),
    isCluster: async (options = {}) =>
      (commander ?? (await run(options, async (opened) => opened))).isCluster,
    address: () => address,
    state: () => state,
    close() {
      closed = true;
      for (const waiter of [...waiters]) waiter(false);
      forget();
    },
  };
}
