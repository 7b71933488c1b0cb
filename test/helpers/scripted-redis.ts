import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';

/** A server that answers every command as told; `null`: not at all. */
export async function scriptedRedis(
  answer: (command: string) => string | null,
): Promise<{ url: string; close(): Promise<void> }> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      // One command to a chunk is enough here: each waits for the answer to the one before.
      for (const command of chunk.toString('latin1').split(/(?=\*\d+\r\n)/)) {
        const reply = answer(command.split('\r\n')[2]?.toUpperCase() ?? '');
        if (reply !== null) socket.write(reply);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `redis://:SECRET@127.0.0.1:${port}/0`,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
