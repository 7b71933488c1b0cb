import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { REDIS } from './engines.ts';
import { createClient } from './redis-client.ts';
import { endWithProcess, freePort, untilSaid } from './redis-server.ts';

/** A Sentinel of its own, on a free port of loopback. */
export interface RedisSentinel {
  readonly port: number;
  /** The port of the master. */
  master(): Promise<number>;
  /** Whether it knows a replica that follows the master. */
  hasReplica(): Promise<boolean>;
  /** Makes the replica the master. `false`: not yet, the replica has not answered recently. */
  failOver(): Promise<boolean>;
  /** Looks at its instances every two seconds, not ten. Redis 7 can; an older one stays as it is. */
  lookOften(): Promise<void>;
  /**
   * Replaces a master that does not answer for 500 ms, and tries again after eight seconds. Call it only once the
   * master is dead: on a busy machine, a living one may be silent for as long.
   */
  actSoon(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Starts a Sentinel that watches the Redis on that port by the name `shop`.
 *
 * @param lines more lines of its configuration
 * @param password the Sentinel's own
 */
export async function startSentinel(
  master: number,
  lines: readonly string[] = [],
  password?: string,
): Promise<RedisSentinel> {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'monitor-sentinel-'));
  const file = join(folder, 'sentinel.conf');
  const first = [`port ${port}`, 'bind 127.0.0.1', `sentinel monitor shop 127.0.0.1 ${master} 1`];
  const own = password === undefined ? [] : [`requirepass ${password}`];
  writeFileSync(file, [...first, ...own, ...lines, ''].join('\n'));
  const child = spawn(REDIS, [file, '--sentinel'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  endWithProcess(child);
  await untilSaid(child, '+monitor master');
  const client = createClient({
    RESP: 2,
    socket: { host: '127.0.0.1', port, reconnectStrategy: 50 },
    ...(password === undefined ? {} : { password }),
  });
  client.on('error', () => {});
  await client.connect();
  const ask = (...args: string[]): Promise<unknown> => client.sendCommand(['SENTINEL', ...args]);
  return {
    port,
    master: async () => Number(((await ask('get-master-addr-by-name', 'shop')) as string[])[1]),
    hasReplica: async () => /master-link-status,ok/.test(String(await ask('replicas', 'shop'))),
    failOver: () =>
      ask('failover', 'shop').then(
        () => true,
        () => false,
      ),
    async lookOften() {
      await ask('debug', 'info-period', '2000', 'publish-period', '500').catch(() => {});
    },
    async actSoon() {
      await ask('set', 'shop', 'down-after-milliseconds', '500', 'failover-timeout', '4000');
    },
    async close() {
      client.destroy();
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
      rmSync(folder, { recursive: true });
    },
  };
}
