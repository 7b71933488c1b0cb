/** Serves a monitor until the process gets a signal to end. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createMonitorHandler } from '../node.ts';
import { guardOf, isOwnHost } from './guard.ts';
import { sourcesOf } from './open-sources.ts';
import { type Command, UsageError } from './read-command.ts';

export async function serveCommand(command: Command): Promise<void> {
  const { sources, end } = await sourcesOf(command);
  const handler = createMonitorHandler({ sources, ...guardOf(command) });
  const server = createServer((request, response) => {
    if (isOwnHost(request.headers.host, command.names)) return handler(request, response);
    response.writeHead(403, { 'content-type': 'text/plain; charset=utf-8' });
    response.end(
      'This host name is unknown. Start the monitor with --name and the host name of the address.\n',
    );
  });
  server.listen(command.port, command.host);
  try {
    await once(server, 'listening');
  } catch (error) {
    await handler.close();
    await end();
    throw listenProblem(error, command);
  }
  const { address, family, port } = server.address() as AddressInfo;
  console.log(
    `Task monitor on http://${family === 'IPv6' ? `[${address}]` : address}:${port}/ (Ctrl+C ends it)`,
  );
  const stop = async (): Promise<void> => {
    server.close();
    await handler.close();
    await end();
    server.closeAllConnections();
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop());
}

function listenProblem(error: unknown, { host, port }: Command): Error {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE')
    return new UsageError(`Port ${port} is in use. Use another one: --port ${port + 1}`);
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return new UsageError(`--host ${host} is not an address of this machine.`);
  if (code === 'EACCES') return new UsageError(`Port ${port} needs more rights. Use one above 1023.`);
  return error as Error;
}
