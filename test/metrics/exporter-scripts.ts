/** What exporters do wrong, for the tests of the scrape and of the route. */
import { gzipSync } from 'node:zlib';
import { answer, BODY, type Script, TEXT } from './fake-exporter.ts';

const invalid: Record<string, Script> = {
  'answers 404': (socket) => socket.end(answer(BODY, [`Content-Type: ${TEXT}`], '404 Not Found')),
  'answers 500': (socket) => socket.end(answer(BODY, [`Content-Type: ${TEXT}`], '500 Oops')),
  'answers 204': (socket) => socket.end(`HTTP/1.1 204 No Content\r\nContent-Type: ${TEXT}\r\n\r\n`),
  'answers 206': (socket) => socket.end(answer(BODY, [`Content-Type: ${TEXT}`], '206 Partial Content')),
  'answers 101': (socket) =>
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'),
  'floods with interim answers': (socket) => {
    const flood = (): void => {
      if (!socket.destroyed)
        socket.write('HTTP/1.1 102 Processing\r\n\r\n'.repeat(50), () => setImmediate(flood));
    };
    flood();
  },
  'answers with HTML': (socket) => socket.end(answer(BODY, ['Content-Type: text/html'])),
  'answers with JSON': (socket) => socket.end(answer('{}', ['Content-Type: application/json'])),
  'answers without content type': (socket) => socket.end(answer(BODY, [])),
  'answers with an empty content type': (socket) => socket.end(answer(BODY, ['Content-Type:'])),
  'answers with a content type that hides another': (socket) =>
    socket.end(answer(BODY, ['Content-Type: text/plain, text/html'])),
  'answers with a boundless content type': (socket) =>
    socket.end(answer(BODY, [`Content-Type: text/plain; a="${'x'.repeat(300)}"`])),
  'compresses in spite of all': (socket) => {
    const body = gzipSync(BODY).toString('latin1');
    socket.end(answer(body, [`Content-Type: ${TEXT}`, 'Content-Encoding: gzip']), 'latin1');
  },
  'sends a body that it has coded with gzip, in chunks': (socket) => {
    const body = gzipSync(BODY);
    socket.write(`HTTP/1.1 200 OK\r\nContent-Type: ${TEXT}\r\nTransfer-Encoding: gzip, chunked\r\n\r\n`);
    socket.write(`${body.length.toString(16)}\r\n`);
    socket.write(body);
    socket.end('\r\n0\r\n\r\n');
  },
  'sends a transfer coding that ends with its connection': (socket) =>
    socket.end(
      `HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text\r\nTransfer-Encoding: chunked, gzip\r\n\r\n# EOF\n`,
    ),
  'sends one byte in each chunk': (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Type: ${TEXT}\r\nTransfer-Encoding: chunked\r\n\r\n`);
    socket.write('1\r\nx\r\n'.repeat(50_000));
  },
  'cuts a body with a length': (socket) =>
    socket.end(`HTTP/1.1 200 OK\r\nContent-Type: ${TEXT}\r\nContent-Length: 500\r\n\r\n${BODY}`),
  'cuts a body in chunks between two of them': (socket) =>
    socket.end(
      `HTTP/1.1 200 OK\r\nContent-Type: ${TEXT}\r\nTransfer-Encoding: chunked\r\n\r\n4\r\na 1\n\r\n`,
    ),
  'cuts a chunk': (socket) =>
    socket.end(`HTTP/1.1 200 OK\r\nContent-Type: ${TEXT}\r\nTransfer-Encoding: chunked\r\n\r\nff\r\na 1\n`),
  'resets the connection within the body': (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Type: ${TEXT}\r\nContent-Length: 500\r\n\r\n${BODY}`, () =>
      setTimeout(() => socket.resetAndDestroy(), 20),
    );
  },
  'ends its body by hanging up, so that a cut could not be seen': (socket) =>
    socket.end(`HTTP/1.1 200 OK\r\nContent-Type: ${TEXT}\r\n\r\n${BODY}`),
  'cuts OpenMetrics text that has no length': (socket) =>
    socket.end('HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text\r\n\r\na 1\n'),
  'announces a body above the limit': (socket) =>
    socket.write(`HTTP/1.1 200 OK\r\nContent-Type: ${TEXT}\r\nContent-Length: 99999999\r\n\r\n`),
  'never stops': (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Type: ${TEXT}\r\nTransfer-Encoding: chunked\r\n\r\n`);
    const chunk = `1000\r\n${'x'.repeat(0x1000)}\r\n`;
    const flood = (): void => {
      if (!socket.destroyed) socket.write(chunk, () => setImmediate(flood));
    };
    flood();
  },
  'speaks no HTTP': (socket) => socket.end('220 smtp.example.org ESMTP\r\n'),
  'has a header with a NUL in its name': (socket) =>
    socket.end(answer(BODY, ['Content-Type: text/plain', 'a\0b: c'])),
  'has a header of 64 KB': (socket) =>
    socket.end(answer(BODY, ['Content-Type: text/plain', `X-Big: ${'x'.repeat(65_536)}`])),
  'gives two lengths': (socket) => socket.end(answer(BODY, [`Content-Type: ${TEXT}`, 'Content-Length: 3'])),
};
for (const status of [301, 302, 303, 307, 308, 304, 300]) {
  invalid[`answers ${status}`] = (socket) =>
    socket.end(
      answer('', [`Content-Type: ${TEXT}`, 'Location: http://169.254.169.254/'], `${status} Elsewhere`),
    );
}

/** Answers that are refused as invalid, by what the exporter does. */
export const INVALID_ANSWERS: Readonly<Record<string, Script>> = invalid;

/** Answers that do not come to an end in time, by what the exporter does. */
export const SLOW_ANSWERS: Readonly<Record<string, Script>> = {
  'says nothing': () => {},
  'stalls within the headers': (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Ty'),
  'stalls after the headers': (socket) =>
    socket.write(`HTTP/1.1 200 OK\r\nContent-Type: ${TEXT}\r\nContent-Length: 9\r\n\r\n`),
  'stalls within the body': (socket) =>
    socket.write(`HTTP/1.1 200 OK\r\nContent-Type: ${TEXT}\r\nContent-Length: 9\r\n\r\na 1\n`),
  drips: (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Type: ${TEXT}\r\nTransfer-Encoding: chunked\r\n\r\n`);
    const timer = setInterval(() => socket.write('4\r\na 1\n\r\n'), 20);
    socket.on('close', () => clearInterval(timer));
  },
};
