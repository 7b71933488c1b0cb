import type { OpenClient } from './node-redis.ts';

/** A Redis to which we open connections. */
export interface RedisEndpoint {
  readonly open: OpenClient;
  /** Equal for two endpoints on the same server with the same credentials. Holds the password: never show it. */
  readonly server: unknown;
  readonly database: number;
  /** Without user, password and query; `null` if the host's client does not reveal it. */
  readonly url: string | null;
}
