import { BlockList, isIP } from 'node:net';

// Cloud metadata services listen on link-local addresses. A proxy that reaches them gives away credentials.
const LINK_LOCAL = new BlockList();
LINK_LOCAL.addSubnet('169.254.0.0', 16, 'ipv4');
LINK_LOCAL.addSubnet('fe80::', 10, 'ipv6');
LINK_LOCAL.addAddress('fd00:ec2::254', 'ipv6');

/**
 * Whether an IP address is link-local: 169.254/16 (RFC 3927), also inside IPv6, fe80::/10 (RFC 4291), or the
 * unique-local address of Amazon's metadata service. Host names are not resolved; the result for them is
 * false.
 *
 * @param address an IP address, IPv6 with or without brackets
 */
export function isLinkLocal(address: string): boolean {
  const bare = address.startsWith('[') ? address.slice(1, -1) : address;
  const version = isIP(bare);
  if (version === 0) return false;
  return LINK_LOCAL.check(bare, version === 6 ? 'ipv6' : 'ipv4');
}
