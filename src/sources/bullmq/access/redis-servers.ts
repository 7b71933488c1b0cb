import type { RedisReader } from '../../../redis/reader.ts';
import type { QueueAccess } from './queue-access.ts';
import type { QueueRef } from './queue-ref.ts';

/** A Redis or a cluster, to which there may be several connections. */
export interface RedisServer {
  /** A reader for commands about the whole server. */
  readonly reader: RedisReader;
  /** The queues stored there. */
  readonly queues: readonly QueueRef[];
}

/**
 * Servers with their queues, in the order of the links. Links with the same address belong to one server. Links
 * that have never answered have no address; they are treated as one server.
 */
export function serversOf(access: QueueAccess, queues: readonly QueueRef[]): readonly RedisServer[] {
  const servers = new Map<unknown, { readonly reader: RedisReader; readonly queues: QueueRef[] }>();
  function serverOf(reader: RedisReader): { readonly queues: QueueRef[] } {
    const key = reader.address() ?? (reader.state().asOf === null ? null : reader);
    const server = servers.get(key) ?? { reader, queues: [] };
    servers.set(key, server);
    return server;
  }
  for (const reader of access.readers()) serverOf(reader);
  for (const queue of queues) serverOf(queue.reader).queues.push(queue);
  return [...servers.values()];
}
