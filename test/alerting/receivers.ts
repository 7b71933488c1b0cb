/** Servers that take alerts, as those of Slack, PagerDuty and a mail provider do. */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net';

/** A server that keeps what it receives. */
export interface Receiver<Received> {
  readonly port: number;
  readonly received: Received[];
  close(): Promise<void>;
}

/** One request. */
export interface Posted {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

async function listening<Received>(server: Server, received: Received[]): Promise<Receiver<Received>> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    received,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** Answers every POST. @param statuses of the first answers; the others are 202 */
export function receivePosts(...statuses: number[]): Promise<Receiver<Posted>> {
  const received: Posted[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (chunk: string) => {
      body += chunk;
    });
    request.on('end', () => {
      received.push({ path: `${request.method} ${request.url}`, headers: request.headers, body });
      response.writeHead(statuses.shift() ?? 202, { Connection: 'close' }).end('ok');
    });
  });
  return listening(server, received);
}

/** Speaks as much SMTP as a mail needs (RFC 5321), and keeps the mails. */
export function receiveMails(): Promise<Receiver<string>> {
  const received: string[] = [];
  const server = createTcpServer((socket) => {
    let rest = '';
    let mail: string[] | null = null;
    const take = (line: string): string | null => {
      if (mail !== null) {
        if (line !== '.') mail.push(line.replace(/^\./, ''));
        else {
          received.push(mail.join('\n'));
          mail = null;
          return '250 Taken';
        }
        return null;
      }
      const word = line.slice(0, 4).toUpperCase();
      if (word === 'DATA') mail = [];
      return { EHLO: '250 local', DATA: '354 Go on', QUIT: '221 Bye' }[word] ?? '250 OK';
    };
    socket.setEncoding('utf8');
    socket.on('error', () => {});
    socket.write('220 local\r\n');
    socket.on('data', (chunk) => {
      const lines = (rest + String(chunk)).split('\r\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const answer = take(line);
        if (answer !== null) socket.write(`${answer}\r\n`);
        if (answer?.startsWith('221')) socket.end();
      }
    });
  });
  return listening(server, received);
}
