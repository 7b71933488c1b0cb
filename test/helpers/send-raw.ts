/** Requests that no HTTP client would send. */
import { connect } from 'node:net';
import { onTestFinished } from 'vitest';
import { until } from './redis-server.ts';

/** Sends bytes as they are, and returns the response until the server closes the connection or sends `LAST`. */
export async function sendRaw(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  let received = '';
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1');
  });
  socket.write(text, 'latin1');
  await until(() => socket.closed || received.includes('LAST'));
  return received;
}
