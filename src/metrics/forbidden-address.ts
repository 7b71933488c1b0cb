/**
 * Addresses that a scrape must not reach: link-local ones and the metadata services of clouds, which give
 * credentials to whoever asks from inside.
 */
import type { ClientRequest } from 'node:http';
import { BlockList, isIP, isIPv4 } from 'node:net';

const FORBIDDEN = new BlockList();
// Link-local (RFC 3927), with the metadata services of most clouds: 169.254.169.254, 169.254.170.2, …
FORBIDDEN.addSubnet('169.254.0.0', 16, 'ipv4');
// Link-local (RFC 4291), with OpenStack's fe80::a9fe:a9fe.
FORBIDDEN.addSubnet('fe80::', 10, 'ipv6');
for (const address of [
  // Alibaba Cloud
  '100.100.100.200',
  // Azure's WireServer
  '168.63.129.16',
  // Oracle Cloud, the older generation
  '192.0.0.192',
]) {
  FORBIDDEN.addAddress(address, 'ipv4');
}
for (const address of [
  // AWS: instance metadata, and credentials of EKS pods
  'fd00:ec2::254',
  'fd00:ec2::23',
  // Google Cloud
  'fd20:ce::254',
  // Scaleway
  'fd00:42::42',
]) {
  FORBIDDEN.addAddress(address, 'ipv6');
}

/**
 * Whether an IP address must not be scraped, also when it is an IPv4 address inside of an IPv6 one. Host names
 * are not resolved; the result for them is false.
 *
 * @param address an IP address, IPv6 with or without brackets and zone
 */
export function isForbiddenAddress(address: string): boolean {
  const [bare = ''] = address.replace(/^\[|\]$/g, '').split('%', 1);
  if (isIPv4(bare)) return FORBIDDEN.check(bare, 'ipv4');
  if (isIP(bare) !== 6) return false;
  if (FORBIDDEN.check(bare, 'ipv6')) return true;
  return embeddedIn(groupsOf(bare)).some((embedded) => FORBIDDEN.check(embedded, 'ipv4'));
}

/** The eight groups of an IPv6 address. */
function groupsOf(address: string): number[] {
  // A URL has no dotted end, which would stand for two groups.
  const { hostname } = new URL(`http://[${address}]`);
  const [head = '', tail = ''] = hostname.slice(1, -1).split('::');
  const groups = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16));
  const [before, after] = [groups(head), groups(tail)];
  return [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after];
}

/** IPv4 addresses that gateways and tunnels read from an IPv6 address. */
function embeddedIn(groups: readonly number[]): string[] {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = groups;
  const last = dotted(g, h);
  const startsWithZeros = a === 0 && b === 0 && c === 0 && d === 0;
  const found: string[] = [];
  // IPv4-compatible, IPv4-mapped (RFC 4291) and IPv4-translated (RFC 2765).
  if (startsWithZeros && (e === 0 || e === 0xffff) && (f === 0 || f === 0xffff)) found.push(last);
  // NAT64 (RFC 6052): the well-known prefix, and the one for local use (RFC 8215) in every length that it may have.
  if (a === 0x64 && b === 0xff9b) {
    found.push(last);
    if (c === 1) {
      found.push(
        dotted(d, ((e & 0xff) << 8) | (f >> 8)),
        dotted(((d & 0xff) << 8) | (e & 0xff), f),
        dotted(((e & 0xff) << 8) | (f >> 8), ((f & 0xff) << 8) | (g >> 8)),
      );
    }
  }
  // 6to4 (RFC 3056).
  if (a === 0x2002) found.push(dotted(b, c));
  // Teredo (RFC 4380): the server, and the client with its bits inverted.
  if (a === 0x2001 && b === 0) found.push(dotted(c, d), dotted(g ^ 0xffff, h ^ 0xffff));
  // ISATAP (RFC 5214).
  if ((e === 0 || e === 0x200) && f === 0x5efe) found.push(last);
  return found;
}

function dotted(high: number, low: number): string {
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.');
}

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
