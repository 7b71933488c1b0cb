import type { RedisLink } from '../../redis/shared-reader.ts';
import type { QueueAccess } from './queue-access.ts';
import type { QueueRef } from './queue-ref.ts';

/** A Redis or a cluster, which queues may reach over connections of their own. */
export interface RedisServer {
  /** One of the connections, for what concerns the server as a whole. */
  readonly link: RedisLink;
  /** The queues that lie there. */
  readonly queues: readonly QueueRef[];
}

/**
 * Servers with their queues, in the order of the links. Links whose address is the same lead to one server;
 * those that have never answered have none yet, and are taken together.
 */
export function serversOf(access: QueueAccess, queues: readonly QueueRef[]): readonly RedisServer[] {
  const servers = new Map<unknown, { readonly link: RedisLink; readonly queues: QueueRef[] }>();
  function serverOf(link: RedisLink): { readonly queues: QueueRef[] } {
    const key = link.address() ?? (link.state().asOf === null ? null : link);
    const server = servers.get(key) ?? { link, queues: [] };
    servers.set(key, server);
    return server;
  }
  for (const link of access.links()) serverOf(link);
  for (const queue of queues) serverOf(queue.link).queues.push(queue);
  return [...servers.values()];
}
