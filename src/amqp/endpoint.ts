import type { AmqpClient } from './client.ts';

/** A RabbitMQ to which we open connections. */
export interface AmqpEndpoint {
  /** How many hosts there are to try. */
  readonly hosts: number;
  /** Of one of the hosts, without user, password and query; `null` if the host's connection does not reveal it. */
  url(host: number): string | null;
  /** `null` if the host's connection does not reveal it. */
  readonly virtualHost: string | null;
  /** The same hosts and login with another virtual host; `null` if the host's connection has only this one. */
  inVirtualHost(name: string): AmqpEndpoint | null;
  /**
   * Connects to one of the hosts.
   *
   * @param host index of the host; any whole number, of which the remainder counts
   * @param signal ends the attempt, and the connection at once
   * @throws an error of amqplib or Node, or `AmqpError`
   */
  open(host: number, signal: AbortSignal): Promise<OpenedClient>;
}

/** A connection that was opened, or lent by the host. */
export interface OpenedClient {
  readonly client: AmqpClient;
  /** Whether it belongs to the host: it is not closed then. */
  readonly isLent: boolean;
  /**
   * To be called once there are listeners: passes on the data that arrived with the opening, see `reads.ts`.
   */
  readonly startReading?: () => void;
  /** Lets messages collect from now on, see `reads.ts`. Absent if they arrive as they are sent. */
  readonly startPacing?: () => void;
  /** Such as `3.10.8`; `null` if unknown. */
  readonly version: string | null;
}
