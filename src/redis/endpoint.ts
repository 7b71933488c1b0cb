import type { OpenClient } from './node-redis.ts';

/** A Redis that connections of ours are opened to. */
export interface RedisEndpoint {
  readonly open: OpenClient;
  /** Equal for two endpoints on the same server with the same credentials. Holds the password: never show it. */
  readonly server: unknown;
  readonly database: number;
  /** Without user, password and query; `null` if the host's client does not reveal it. */
  readonly url: string | null;
}
