import { describe, expect, it } from 'vitest';
import { createMonitorRouter } from '../../src/index.ts';

const FORBIDDEN = [
  '169.254.0.0',
  '169.254.169.254',
  '169.254.170.2',
  '169.254.170.23',
  '169.254.255.255',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
  'fe80::1',
  'febf:ffff::1',
  'fe80::a9fe:a9fe',
  'fd00:ec2::254',
  'fd00:ec2::23',
  'FD00:0EC2:0:0:0:0:0:0254',
  'fd20:ce::254',
  'fd00:42::42',
  '[fd20:ce::254]',
  // IPv4-mapped, -translated and -compatible
  '::ffff:169.254.169.254',
  '::ffff:a9fe:a9fe',
  '0:0:0:0:0:ffff:a9fe:a9fe',
  '::ffff:0:169.254.169.254',
  '::169.254.169.254',
  '::ffff:100.100.100.200',
  '[::ffff:168.63.129.16]',
  // NAT64
  '64:ff9b::169.254.169.254',
  '64:ff9b::a9fe:a9fe',
  '64:ff9b::6464:64c8',
  '64:ff9b:1::a9fe:a9fe',
  '64:ff9b:1:a9fe:a9:fe00::',
  '64:ff9b:1:a9:fe:a9fe::',
  '64:ff9b:1:0:a9:fea9:fe00:0',
  // 6to4, Teredo (server, client), ISATAP
  '2002:a9fe:a9fe::1',
  '2002:6464:64c8::',
  '2001:0:a9fe:a9fe::1',
  '2001:0:5ef5:79fb::5601:5601',
  '2001:db8::5efe:a9fe:a9fe',
  '2001:db8::200:5efe:169.254.169.254',
];

const ALLOWED = [
  '127.0.0.1',
  '10.0.0.1',
  '169.253.255.255',
  '169.255.0.0',
  '100.100.100.201',
  '168.63.129.17',
  '::',
  '::1',
  '::ffff:127.0.0.1',
  '64:ff9b::10.0.0.1',
  '64:ff9b:1::10.0.0.1',
  '64:ff9b:2:a9fe:a9:fe00::',
  '2002:a00:1::1',
  '2001:db8::a9fe:a9fe',
  '2001:4860:4860::8888',
  'fec0::1',
  'fd00:ec2::253',
  'fd20:ce::255',
  'fd12:3456::1',
  // Names are looked up first.
  'metadata.google.internal',
  'exporter',
  '169.254.169.254.example',
];

/** Creates a router that would scrape this address. */
function scrape(address: string): void {
  const host = address.includes(':') && !address.startsWith('[') ? `[${address}]` : address;
  createMonitorRouter({ exporter: { url: `http://${host}:9808/metrics` }, authorize: false });
}

describe('an address', () => {
  it.each(FORBIDDEN)('%s must not be scraped', (address) => {
    expect(() => scrape(address)).toThrow(/'exporter\.url' must not be a link-local address/);
  });

  it.each(ALLOWED)('%s may be scraped', (address) => {
    expect(() => scrape(address)).not.toThrow();
  });
});
