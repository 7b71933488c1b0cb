/** Serves a monitor until the process gets a signal to end. */

import { createHash, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, isIP } from 'node:net';
import { createMonitorHandler, type MonitorHandlerOptions } from '../node.ts';
import { openSources, type ServeCommand, UsageError } from './read-command.ts';

export async function serveCommand(command: ServeCommand): Promise<void> {
  const { sources, end } = await openSources(command, command.store);
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

function listenProblem(error: unknown, { host, port }: ServeCommand): Error {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE')
    return new UsageError(`Port ${port} is in use. Use another one: --port ${port + 1}`);
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return new UsageError(`--host ${host} is not an address of this machine.`);
  if (code === 'EACCES') return new UsageError(`Port ${port} needs more rights. Use one above 1023.`);
  return error as Error;
}

/**
 * Whether the `Host` of a request is this server. A page of another site can make its own name resolve to 127.0.0.1
 * (DNS rebinding) to read the answers, but it cannot do so with an address or with `localhost`.
 */
export function isOwnHost(header: string | undefined, names: readonly string[]): boolean {
  const host = (header ?? '').toLowerCase().replace(/:\d+$/, '');
  return host === 'localhost' || isIP(host.replace(/^\[|\]$/g, '')) !== 0 || names.includes(host);
}

/** Who may open the monitor that the command serves: HTTP's Basic scheme, with the user `monitor`. A probe needs no password, and then gets no details. */
function guardOf({
  password,
}: Pick<ServeCommand, 'password'>): Pick<MonitorHandlerOptions, 'authorize' | 'health'> {
  if (password === null) return { authorize: false };
  const wanted = digest(`Basic ${Buffer.from(`monitor:${password}`).toString('base64')}`);
  const isKnown = ({ headers }: IncomingMessage): boolean =>
    timingSafeEqual(digest(headers.authorization ?? ''), wanted);
  return {
    authorize: (request, route) =>
      route === 'healthcheck' ||
      isKnown(request) || { status: 401, challenge: 'Basic realm="task monitor", charset="UTF-8"' },
    health: { details: isKnown },
  };
}

/** Gives texts of any length the same length, so that the duration of a comparison reveals nothing. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
