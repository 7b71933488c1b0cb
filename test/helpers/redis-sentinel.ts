import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from './redis-client.ts';
import { endWithProcess, freePort, untilSaid } from './redis-server.ts';

/** A Sentinel of its own, on a free port of loopback. */
export interface RedisSentinel {
  readonly port: number;
  /** Sends a command to it. */
  ask(...args: string[]): Promise<unknown>;
  /** Lets it look at its instances every two seconds, not ten. Redis 7 can; an older one stays as it is. */
  hurry(): Promise<void>;
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
  const child = spawn(process.env.REDIS_SERVER_BIN ?? 'redis-server', [file, '--sentinel'], {
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
  return {
    port,
    ask: (...args) => client.sendCommand(args),
    async hurry() {
      const periods = ['info-period', '2000', 'publish-period', '500'];
      await client.sendCommand(['SENTINEL', 'debug', ...periods]).catch(() => {});
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
