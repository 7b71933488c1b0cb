/** A TCP proxy that spoils what comes back through it, in ways that can be switched while it runs. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';

/** What happens to the server's replies. `{}`: nothing. */
export interface LinkFault {
  /** Every chunk comes so much later, in milliseconds. */
  readonly delayMs?: number;
  /** So many bytes come each second. */
  readonly bytesPerSecond?: number;
  /** After so many more bytes of a connection it is ended. */
  readonly cutAfter?: number;
  /** How a connection is ended: in order, or by a reset. Default `fin`. */
  readonly end?: 'fin' | 'reset';
  /** Nothing comes or goes any more, and nobody is told: not on this connection, nor on a new one. */
  readonly halfOpen?: boolean;
  /** A new connection is reset at once. */
  readonly refuse?: boolean;
  /** Comes in place of every reply. */
  readonly garbage?: Buffer;
  /** Comes after the first reply, over and over, as fast as it is read. */
  readonly flood?: Buffer;
}

/** The proxy, until the test ends. */
export interface TcpProxy {
  readonly port: number;
  /** How it behaves from now on, on open connections as on new ones. */
  set(fault: LinkFault): void;
  /** Ends all connections by a reset. */
  reset(): void;
  /** Connections that are open now, and how many there ever were. */
  open(): number;
  opened(): number;
}

interface Link {
  readonly client: Socket;
  readonly server: Socket;
  /** Once half open, what was lost does not come any more. */
  dead: boolean;
  /** Bytes sent under the present fault. */
  sent: number;
}

/** Starts a proxy to that port of loopback, on a free one. */
export async function startTcpProxy(target: number): Promise<TcpProxy> {
  const links = new Set<Link>();
  let fault: LinkFault = {};
  let changed = new AbortController();
  let opened = 0;

  const listener = createServer((client) => {
    opened += 1;
    client.on('error', () => {});
    if (fault.refuse === true) {
      abort(client);
      return;
    }
    const server = connect(target, '127.0.0.1');
    server.on('error', () => client.destroy());
    const link: Link = { client, server, dead: false, sent: 0 };
    links.add(link);
    client.on('close', () => {
      server.destroy();
      links.delete(link);
    });
    client.on('data', (chunk) => {
      link.dead ||= fault.halfOpen === true;
      if (!link.dead) server.write(chunk);
    });
    client.on('end', () => server.end());
    void relay(link).catch(() => client.destroy());
  });

  async function relay(link: Link): Promise<void> {
    for await (const chunk of link.server) await deliver(link, chunk as Buffer);
    if (!link.dead) link.client.end();
  }

  async function deliver(link: Link, chunk: Buffer): Promise<void> {
    const { delayMs = 0, garbage, flood } = fault;
    await pause(delayMs);
    if (garbage !== undefined) return await write(link, garbage);
    let rest = chunk;
    while (rest.length > 0 && !link.client.destroyed) {
      const { bytesPerSecond, cutAfter, end } = fault;
      link.dead ||= fault.halfOpen === true;
      if (link.dead) return;
      const left = cutAfter === undefined ? rest.length : cutAfter - link.sent;
      const size = bytesPerSecond === undefined ? left : Math.min(left, Math.ceil(bytesPerSecond / 20));
      const part = rest.subarray(0, Math.max(size, 0));
      if (part.length > 0) await write(link, part);
      link.sent += part.length;
      rest = rest.subarray(part.length);
      if (cutAfter !== undefined && link.sent >= cutAfter) {
        if (end === 'reset') abort(link.client);
        else link.client.end();
        return;
      }
      if (bytesPerSecond !== undefined) await pause((1_000 * part.length) / bytesPerSecond);
    }
    while (flood !== undefined && fault.flood === flood && !link.client.destroyed) await write(link, flood);
  }

  /** Ended early when the proxy is told to behave otherwise. */
  async function pause(ms: number): Promise<void> {
    if (ms > 0) await sleep(ms, undefined, { signal: changed.signal }).catch(() => {});
  }

  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const proxy: TcpProxy = {
    port: (listener.address() as AddressInfo).port,
    set(next) {
      fault = next;
      for (const link of links) link.sent = 0;
      changed.abort();
      changed = new AbortController();
    },
    reset() {
      for (const { client } of links) abort(client);
    },
    open: () => links.size,
    opened: () => opened,
  };
  onTestFinished(async () => {
    proxy.set({});
    listener.close();
    proxy.reset();
    await once(listener, 'close');
  });
  return proxy;
}

/** Ends a connection by a reset; Node would never close one whose end is under way already. */
function abort(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}

/** Writes as fast as the other side reads; a reader that has left ends the wait. */
async function write({ client }: Link, bytes: Buffer): Promise<void> {
  if (client.destroyed || client.write(bytes)) {
    // Others get their turn in an endless flood, too.
    await new Promise(setImmediate);
    return;
  }
  await new Promise<void>((resolve) => {
    client.once('drain', resolve).once('close', resolve);
  });
}
