import type { TlsOptions } from '../tls.ts';

/** Address of one RabbitMQ, and the login there. */
export interface AmqpAddress {
  readonly host: string;
  readonly port: number;
  readonly virtualHost: string;
  readonly username: string;
  readonly password: string;
  /** `null`: no TLS. */
  readonly tls: TlsOptions | null;
  /** The name that the certificate must have; `null`: the host. */
  readonly serverName: string | null;
  /** Seconds between heartbeats, 0 for none; `null`: the default. */
  readonly heartbeat: number | null;
  /** Whether the certificate of the client is the login. */
  readonly isExternal: boolean;
}
