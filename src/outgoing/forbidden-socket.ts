import type { ClientRequest } from 'node:http';
import { isForbiddenAddress } from './forbidden-address.ts';

/**
 * Ends a request to a forbidden address. A host name may resolve to an address that would have been refused in the
 * URL. Checks the address that was looked up before connecting, and the one that the socket is connected to before a
 * byte of the request is written: the agent may have looked the name up before this socket could be watched.
 *
 * @param request has its socket
 * @param refused called before the request is destroyed
 */
export function refuseForbidden(request: ClientRequest, refused: () => void): void {
  const { socket } = request;
  if (socket === null) return;
  const check = (address: unknown): void => {
    // There is no address when the name cannot be resolved.
    if (typeof address !== 'string' || !isForbiddenAddress(address)) return;
    refused();
    request.destroy();
    socket.destroy();
  };
  if (!socket.pending) {
    check(socket.remoteAddress);
    return;
  }
  socket.on('lookup', (_error: unknown, address: unknown) => check(address));
  // Before the listener that writes the request.
  socket.prependOnceListener('connect', () => check(socket.remoteAddress));
}
