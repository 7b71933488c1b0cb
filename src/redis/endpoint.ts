import type { OpenClient } from './node-redis.ts';

/** A Redis that is to be read. */
export interface RedisEndpoint {
  readonly open: OpenClient;
  /** Equal for two endpoints on the same server with the same credentials. Holds the password: never show it. */
  readonly server: unknown;
  readonly database: number;
  /** Without user, password and query; `null` where a client does not tell. */
  readonly url: string | null;
}
