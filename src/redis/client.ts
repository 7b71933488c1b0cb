/** The interface of a Redis client for readers, for all packages. Imports none of them. */
import { displayRedis } from './urls.ts';

/** A command: its name, then its arguments. */
export type RedisCommand = readonly string[];

/** What Redis or the client answered to one command. */
export type Reply = { readonly reply: unknown } | { readonly error: unknown };

/** A client that takes commands. */
export interface RedisClient {
  /** The package's own object, to identify the client. */
  readonly raw: object;
  /** Whether it is connected, or connects when it gets a command. */
  isUp(): boolean;
  /** Sends these commands at once and in this order. Those for one node of a cluster keep their order. */
  send(list: readonly RedisCommand[]): Promise<readonly Reply[]>;
  /** The masters of a cluster that the client knows; for any other client, the client itself. */
  masters(): readonly RedisClient[];
  /**
   * Calls `listener` whenever the connection comes up (`true`) or is lost (`false`).
   *
   * @returns a function that stops it
   */
  watch(listener: (up: boolean) => void): () => void;
  /** Host, port and database as a URL without user and password; `null` if they are not known. */
  address(): string | null;
}

/** Runs these and waits for all; an error thrown at once counts as a rejection. */
export async function settle(calls: readonly (() => Promise<unknown>)[]): Promise<readonly Reply[]> {
  const settled = await Promise.allSettled(calls.map(async (call) => call()));
  return settled.map((outcome) =>
    outcome.status === 'fulfilled' ? { reply: outcome.value } : { error: outcome.reason },
  );
}

/** What the clients of both packages have of Node's EventEmitter. */
export interface ClientEvents {
  on(event: string, listener: (...values: unknown[]) => void): unknown;
  off(event: string, listener: (...values: unknown[]) => void): unknown;
}

/** Implements {@link RedisClient.watch} by the names of the client's events. */
export function watchEvents(
  client: ClientEvents,
  listener: (up: boolean) => void,
  events: { readonly up: readonly string[]; readonly down: readonly string[] },
): () => void {
  const onUp = (): void => listener(true);
  const onDown = (): void => listener(false);
  for (const event of events.up) client.on(event, onUp);
  for (const event of events.down) client.on(event, onDown);
  return () => {
    for (const event of events.up) client.off(event, onUp);
    for (const event of events.down) client.off(event, onDown);
  };
}

/** The address of a client, under the names of both packages. */
export interface ClientAddress {
  readonly host?: unknown;
  readonly port?: unknown;
  readonly path?: unknown;
  readonly db?: unknown;
  readonly tls?: unknown;
}

/** The address as a URL; `null` if the options do not name one. */
export function addressOf({ host, port, path, db, tls }: ClientAddress): string | null {
  if (typeof path === 'string') return displayRedis({ path }, 0, false);
  if (typeof host !== 'string') return null;
  const socket = { host, port: typeof port === 'number' ? port : 6379 };
  return displayRedis(socket, typeof db === 'number' ? db : 0, Boolean(tls));
}
