import { versionOf } from './amqplib.ts';
import { type AmqpClient, isAmqpClient } from './client.ts';
import type { AmqpEndpoint, OpenedClient } from './endpoint.ts';
import { amqpError } from './problems.ts';

/**
 * A connection of the host's: one that `connect` of amqplib has made, with or without its recovery, or a function that
 * makes one. The host's connection is lent and never closed. A connection made by the function is ours: it is called
 * for each connection that is needed, and again whenever one was lost.
 */
export type GivenAmqpConnection = AmqpClient | (() => Promise<AmqpClient>);

/** Whether a value is one of these. */
export function isAmqpConnection(value: unknown): value is GivenAmqpConnection {
  return typeof value === 'function' || isAmqpClient(value);
}

/**
 * Opens channels on the connections of the host.
 *
 * @param virtualHost of the app's configuration, if it has one
 */
export function hostEndpoint(given: GivenAmqpConnection, virtualHost: string | null): AmqpEndpoint {
  return {
    hosts: 1,
    url: () => null,
    virtualHost,
    inVirtualHost: () => null,
    open: typeof given === 'function' ? (_, signal) => openOwn(given, signal) : lend(given),
  };
}

async function openOwn(connect: () => Promise<AmqpClient>, signal: AbortSignal): Promise<OpenedClient> {
  const client = await connect();
  if (!isAmqpClient(client)) throw amqpError('NOTCLIENT');
  const end = (): void => void client.close().catch(() => {});
  if (signal.aborted) end();
  else signal.addEventListener('abort', end, { once: true });
  return { client, isLent: false, version: versionOf(client) };
}

/** With the recovery of amqplib, a channel can be opened once the connection is back; without it, never again. */
function lend(client: AmqpClient): AmqpEndpoint['open'] {
  let isWatched = false;
  let isClosed = false;
  let asking: Promise<void> | null = null;
  return async () => {
    if (!isWatched) {
      isWatched = true;
      client.on('close', () => {
        isClosed = true;
      });
    }
    if (isClosed) throw amqpError('HOSTCLOSED');
    // All attempts wait for one channel: amqplib keeps every request until the connection is back.
    asking ??= openAnyChannel(client).finally(() => {
      asking = null;
    });
    await asking;
    return { client, isLent: true, version: versionOf(client) };
  };
}

async function openAnyChannel(client: AmqpClient): Promise<void> {
  const channel = await client.createChannel();
  channel.on('error', () => {});
  await channel.close();
}
