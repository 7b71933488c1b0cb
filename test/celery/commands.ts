/** What clients of a Redis send, by the user that they are signed in as. */
import { createClient } from '../helpers/redis-client.ts';

/** Commands that change something, block others, or reach them. In a script of `EVAL_RO`, Redis refuses these. */
const WRITING =
  /^"(?:SET|SETEX|APPEND|DEL|UNLINK|EXPIRE|PERSIST|RENAME|[LR]PUSHX?|[LR]POP|B[LR]?POP|BRPOP|LREM|LTRIM|LMOVE|SADD|SREM|SPOP|HSET|HDEL|HINCRBY|ZADD|ZREM|INCR|PUBLISH|SPUBLISH|EVAL(?!_RO)|FLUSH|CONFIG|CLIENT|SCRIPT|MULTI|EXEC|WATCH)/i;

/** A record of all commands. */
export interface CommandRecord {
  /** Commands of these users: those that write, and those that took Redis over 100 ms, ten times the aim. */
  of(users: readonly string[]): Promise<{ written: string[]; slow: unknown[] }>;
  close(): void;
}

/** Begins to record. @param url of an administrator */
export async function recordCommands(url: string): Promise<CommandRecord> {
  const admin = createClient({ url });
  admin.on('error', () => {});
  await admin.connect();
  await admin.sendCommand(['CONFIG', 'SET', 'slowlog-log-slower-than', '100000']);
  await admin.sendCommand(['SLOWLOG', 'RESET']);
  const watcher = admin.duplicate();
  watcher.on('error', () => {});
  await watcher.connect();
  const lines: { address: string; command: string }[] = [];
  await watcher.monitor((line) => {
    const [, address = '', command = ''] = /^\S+ \[\d+ (\S+)\] (.*)$/s.exec(line) ?? [];
    if (WRITING.test(command)) lines.push({ address, command });
  });
  /** Users by address: connections come and go. */
  const users = new Map<string, string>();
  async function look(): Promise<void> {
    const list = String(await admin.sendCommand(['CLIENT', 'LIST']));
    for (const [, address = '', user = ''] of list.matchAll(/\baddr=(\S+) .*?\buser=(\S+)/g))
      users.set(address, user);
  }
  const looking = setInterval(() => void look().catch(() => {}), 50);

  return {
    async of(wanted) {
      await look();
      const written = lines
        .filter(({ address }) => wanted.includes(users.get(address) ?? ''))
        .map(({ command }) => command);
      const log = (await admin.sendCommand(['SLOWLOG', 'GET', '100'])) as unknown as unknown[][];
      return { written, slow: log.filter((entry) => wanted.includes(users.get(String(entry[4])) ?? '')) };
    },
    close() {
      clearInterval(looking);
      watcher.destroy();
      admin.destroy();
    },
  };
}
