/** The interface of readers of Redis, for all clients. */
import type { RedisCommand } from './client.ts';
import type { RedisProblem } from './problems.ts';

/** How long to wait for replies. */
export interface ReadOptions {
  /** Gives up waiting when aborted. */
  readonly signal?: AbortSignal | undefined;
  /** Gives up waiting after this many milliseconds. Default 5,000 for Celery, 4,000 for BullMQ. */
  readonly timeoutMs?: number;
}

/** The state of a connection. Times in milliseconds since 1970. */
export interface ReaderState {
  /** Whether its last use succeeded. */
  readonly up: boolean;
  /** When Redis last answered; `null` if it never did. */
  readonly asOf: number | null;
  /** Why it is not up; `null` while it is, or before the first attempt has ended. */
  readonly problem: RedisProblem | null;
}

/** The outcome of one command; `reply` is `null` if there is a problem. */
export interface Outcome {
  readonly reply: unknown;
  readonly problem: RedisProblem | null;
}

/** What one master of a cluster replied; its address is empty if it is not known. */
export interface MasterReply {
  readonly master: string;
  readonly reply: unknown;
}

/** Sends commands to one Redis or cluster. All reject with a `RedisError`. */
export interface RedisReader {
  /**
   * Sends one command. Replies are strings, numbers, `null` and arrays of them.
   *
   * @throws RedisError when Redis is unreachable, late or refuses
   */
  command(command: RedisCommand, options?: ReadOptions): Promise<unknown>;
  /**
   * Sends several commands in this order, in as few writes as possible.
   *
   * @throws RedisError when Redis is unreachable, late or refuses one of them
   */
  commands(list: readonly RedisCommand[], options?: ReadOptions): Promise<unknown[]>;
  /**
   * The same, but the refusal of a command is its outcome.
   *
   * @throws RedisError when Redis is unreachable or late
   */
  outcomes(list: readonly RedisCommand[], options?: ReadOptions): Promise<readonly Outcome[]>;
  /**
   * One command to each master of a cluster, or to the one server, for what concerns a whole server.
   *
   * @param commandFor what to send to the master of this address; `null`: nothing
   * @throws RedisError when Redis is unreachable, late or refuses one of them
   */
  onEachMaster(
    commandFor: (master: string) => RedisCommand | null,
    options?: ReadOptions,
  ): Promise<readonly MasterReply[]>;
  /** Sends a PING: what is wrong, or `null`. Never rejects. */
  check(signal?: AbortSignal): Promise<RedisProblem | null>;
  state(): ReaderState;
  /** As `redis://host:6379/0`, without user and password; `null` if it is not known. */
  address(): string | null;
  /** Ends clients of our own; later commands are refused. Resolves within about a second. */
  close(): Promise<void>;
}
