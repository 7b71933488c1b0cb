/**
 * The commands that a Redis receives, by `MONITOR`. Read from a socket: ioredis fails if a command arrives together
 * with the reply to `MONITOR`.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';

/**
 * Calls `seen` with the name of each command in lower case, those inside scripts included.
 *
 * @returns a function that ends it
 */
export async function monitorRedis(port: number, seen: (command: string) => void): Promise<() => void> {
  const socket = connect(port, '127.0.0.1');
  const lines = createInterface(socket);
  socket.write('MONITOR\r\n');
  const [reply] = await once(lines, 'line');
  if (reply !== '+OK') throw new Error(`MONITOR was answered with ${reply}`);
  lines.on('line', (line) => {
    const [, command] = /^\+[\d.]+ \[[^\]]*\] "([^"]*)"/.exec(line) ?? [];
    if (command !== undefined) seen(command.toLowerCase());
  });
  return () => void socket.destroy();
}
