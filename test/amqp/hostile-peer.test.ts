/** A peer that speaks AMQP and means no good: bytes of ours, sent over TCP and TLS. */
import { readFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { endpointOf } from '../../src/amqp/amqplib.ts';
import { type AmqpConnection, createAmqpConnection } from '../../src/amqp/connection.ts';
import { parseAmqpUrls } from '../../src/amqp/urls.ts';
import { watchProcess } from '../faults/kit/process-watch.ts';
import { type Certificates, makeCertificates, tlsMissing } from '../helpers/certificates.ts';
import { titleUnless, until } from '../helpers/redis-server.ts';

const CONTEXT = { option: 'broker', ssl: null, heartbeat: null, loginMethod: null };

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
const AFTER_OPENING: Readonly<Record<string, readonly [Buffer, string]>> = {
  'a fatal end of the connection': [close(541, 'INTERNAL_ERROR'), 'UNSUPPORTED'],
  'an end of the connection by an operator': [close(320, 'CONNECTION_FORCED'), 'FORCED'],
  'a second reply': [OPEN_OK, 'PROTOCOL'],
  'a frame on a channel that is not open': [method(7, [20, 41], long(0)), 'PROTOCOL'],
  'a frame without end': [
    Buffer.concat([frame(8, 0, Buffer.alloc(0)).subarray(0, 7), Buffer.from([0])]),
    'PROTOCOL',
  ],
  'a message that nobody consumes': [frame(3, 0, Buffer.from('x')), 'PROTOCOL'],
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
  const open: AmqpConnection[] = [];

  beforeAll(() => {
    certificates = makeCertificates();
  });

  afterAll(() => certificates.remove());

  afterEach(async () => {
    await Promise.all(open.splice(0).map((connection) => connection.close()));
    for (const server of servers.splice(0)) server.close();
  });

  async function serve(scheme: 'amqp' | 'amqps', peer: (socket: Socket) => void): Promise<string> {
    const answer = (socket: Socket): void => {
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

  function connect(url: string): AmqpConnection {
    const ssl = { option: 'broker_use_ssl', values: { ca_certs: certificates.ca } };
    const context = url.startsWith('amqps') ? { ...CONTEXT, ssl } : CONTEXT;
    const connection = createAmqpConnection({
      label: 'test',
      endpoint: endpointOf(parseAmqpUrls(url, context)),
    });
    open.push(connection);
    return connection;
  }

  describe.each(['amqp', 'amqps'] as const)('over %s', (scheme) => {
    describe.each(Object.entries(PEERS))('that sends %s', (_, peer) => {
      it.each(Object.entries(AFTER_OPENING))(
        '%s after the opening, ends the connection alone',
        async (__, [after, code]) => {
          const watch = watchProcess(5_000);
          const connection = connect(await serve(scheme, peer(after)));
          connection.start();
          await until(() => connection.state().problem !== null);
          expect(connection.state()).toMatchObject({ up: false, problem: { code } });
          // It tries again, and nothing is left of the first time.
          await until(() => connection.state().reconnects > 0);
          await connection.close();
          for (const server of servers.splice(0)) server.close();
          await watch.settled();
        },
      );
    });
  });
});
