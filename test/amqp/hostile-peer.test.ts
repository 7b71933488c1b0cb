/** A peer that speaks AMQP and means no good: bytes of ours, sent over TCP and TLS. */
import { readFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type CelerySources, celerySources } from '../../src/celery.ts';
import { watchProcess } from '../faults/kit/process-watch.ts';
import { componentOf } from '../helpers/celery-events.ts';
import { type Certificates, makeCertificates, tlsMissing } from '../helpers/certificates.ts';
import { titleUnless, until } from '../helpers/redis-server.ts';

const short = (value: number): Buffer => Buffer.from([value >> 8, value & 0xff]);
const long = (value: number): Buffer => Buffer.concat([short(value >>> 16), short(value & 0xffff)]);

function frame(type: number, channel: number, payload: Buffer): Buffer {
  return Buffer.concat([
    Buffer.from([type]),
    short(channel),
    long(payload.length),
    payload,
    Buffer.from([0xce]),
  ]);
}

function method(channel: number, ids: readonly [number, number], ...fields: Buffer[]): Buffer {
  return frame(1, channel, Buffer.concat([short(ids[0]), short(ids[1]), ...fields]));
}

function close(code: number, text: string): Buffer {
  return method(0, [10, 50], short(code), Buffer.from([text.length]), Buffer.from(text), short(0), short(0));
}

const START = method(
  0,
  [10, 10],
  Buffer.from([0, 9]),
  long(0),
  long(5),
  Buffer.from('PLAIN'),
  long(5),
  Buffer.from('en_US'),
);
const TUNE = method(0, [10, 30], short(2047), long(131_072), short(10));
const OPEN_OK = method(0, [10, 41], Buffer.from([0]));

/** What comes in the same segment as the reply to `connection.open`, and what is made of it. */
const AFTER_OPENING: Readonly<Record<string, readonly [Buffer, RegExp]>> = {
  'a fatal end of the connection': [close(541, 'INTERNAL_ERROR'), /lacks a feature/],
  'an end of the connection by an operator': [close(320, 'CONNECTION_FORCED'), /closed the connection/],
  'a second reply': [OPEN_OK, /does not speak AMQP/],
  'a frame on a channel that is not open': [method(7, [20, 41], long(0)), /does not speak AMQP/],
  'a frame without end': [
    Buffer.concat([frame(8, 0, Buffer.alloc(0)).subarray(0, 7), Buffer.from([0])]),
    /does not speak AMQP/,
  ],
  'a message of a terabyte': [
    frame(2, 1, Buffer.concat([short(60), short(0), long(256), long(0), short(0)])),
    /larger than any it accepts/,
  ],
  'a frame of a gigabyte': [
    Buffer.concat([Buffer.from([3]), short(0), long(2 ** 30)]),
    /does not speak AMQP/,
  ],
  'a message that nobody consumes': [frame(3, 0, Buffer.from('x')), /does not speak AMQP/],
};

/** How the bytes come. */
const PEERS: Readonly<Record<string, (after: Buffer) => (socket: Socket) => void>> = {
  'in its turn': (after) => (socket) => {
    const replies = [START, TUNE, Buffer.concat([OPEN_OK, after])];
    let sent = '';
    socket.on('data', (chunk: Buffer) => {
      sent += chunk.toString('latin1');
      // The header, start-ok, and tune-ok with open.
      if (sent.startsWith('AMQP') && replies.length === 3) socket.write(replies.shift() as Buffer);
      else if (sent.includes('PLAIN') && replies.length === 2) socket.write(replies.shift() as Buffer);
      else if (sent.includes('\0\x0a\0\x28') && replies.length === 1) socket.write(replies.shift() as Buffer);
    });
  },
  'all at once, and then ends': (after) => (socket) =>
    void socket.end(Buffer.concat([START, TUNE, OPEN_OK, after])),
};

describe.skipIf(tlsMissing !== null)(titleUnless(tlsMissing, 'a hostile peer'), () => {
  let certificates: Certificates;
  const servers: Server[] = [];
  const open: CelerySources[] = [];
  let connections = 0;

  beforeAll(() => {
    certificates = makeCertificates();
  });

  afterAll(() => certificates.remove());

  afterEach(async () => {
    await Promise.all(open.splice(0).map((sources) => sources.close()));
    for (const server of servers.splice(0)) server.close();
  });

  async function serve(scheme: 'amqp' | 'amqps', peer: (socket: Socket) => void): Promise<string> {
    const answer = (socket: Socket): void => {
      connections += 1;
      socket.on('error', () => {}).resume();
      peer(socket);
    };
    const { cert, key } = certificates.server;
    const server =
      scheme === 'amqp'
        ? createServer(answer)
        : createTlsServer({ cert: readFileSync(cert), key: readFileSync(key) }, answer);
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `${scheme}://127.0.0.1:${(server.address() as { port: number }).port}`;
  }

  function connect(broker: string): CelerySources {
    const settings = broker.startsWith('amqps') ? { broker_use_ssl: { ca_certs: certificates.ca } } : {};
    const sources = celerySources({ broker, settings, control: false });
    open.push(sources);
    return sources;
  }

  describe.each(['amqp', 'amqps'] as const)('over %s', (scheme) => {
    describe.each(Object.entries(PEERS))('that sends %s', (_, peer) => {
      it.each(Object.entries(AFTER_OPENING))(
        '%s after the opening, ends the connection alone',
        async (__, [after, sentence]) => {
          const watch = watchProcess(5_000);
          connections = 0;
          const sources = connect(await serve(scheme, peer(after)));
          await until(async () => {
            const { error } = (await componentOf(sources, 'broker')).config;
            return sentence.test(String(error));
          });
          expect(sources.events.status?.().ok).toBe(false);
          // It tries again, and nothing is left of the first time.
          const before = connections;
          await until(() => connections > before);
          await sources.close();
          for (const server of servers.splice(0)) server.close();
          await watch.settled();
        },
      );
    });
  });
});
