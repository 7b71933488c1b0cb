import { Redis } from 'ioredis';
import { freePort, type RedisServer, startRedis, until } from './redis-server.ts';

/** A cluster of some masters on free ports of loopback. */
export interface RedisCluster {
  readonly nodes: readonly { readonly host: string; readonly port: number }[];
  close(): Promise<void>;
}

/** Slots of a cluster. */
const SLOTS = 16_384;

export async function startCluster(masters = 3): Promise<RedisCluster> {
  // By itself, the bus of a node takes its port and 10,000, which may be none.
  const servers: RedisServer[] = [];
  while (servers.length < masters) {
    const name = `nodes-${servers.length}.conf`;
    servers.push(
      await startRedis(
        '--cluster-enabled',
        'yes',
        '--cluster-config-file',
        name,
        '--cluster-port',
        String(await freePort()),
      ),
    );
  }
  const clients = servers.map(({ port }) => new Redis(port, '127.0.0.1'));
  const [first] = clients;
  const share = Math.ceil(SLOTS / masters);
  for (const [index, client] of clients.entries()) {
    await client.call(
      'CLUSTER',
      'ADDSLOTSRANGE',
      String(index * share),
      String(Math.min(SLOTS, (index + 1) * share) - 1),
    );
  }
  for (const [index, { port }] of servers.entries()) {
    const bus = /@(\d+)/.exec(String(await clients[index]?.call('CLUSTER', 'NODES')))?.[1] ?? '';
    if (index > 0) await first?.call('CLUSTER', 'MEET', '127.0.0.1', String(port), bus);
  }
  await until(async () => {
    const states = await Promise.all(
      clients.map(async (client) => String(await client.call('CLUSTER', 'INFO'))),
    );
    return states.every(
      (info) => info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${masters}`),
    );
  });
  for (const client of clients) client.disconnect();
  return {
    nodes: servers.map(({ port }) => ({ host: '127.0.0.1', port })),
    async close() {
      await Promise.all(servers.map((server) => server.close()));
    },
  };
}
