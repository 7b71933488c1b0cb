/** Servers that answer like a management API of RabbitMQ, or do not. */
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach } from 'vitest';
import {
  type ResolvedManagement,
  resolveManagement,
} from '../../src/sources/celery/brokers/amqp/management/management-options.ts';

/** For one file: what a test began is ended after it. */
export function useManagementLab() {
  const ends: (() => Promise<unknown>)[] = [];

  async function end(): Promise<void> {
    for (const ending of ends.splice(0)) await ending();
  }

  afterEach(end);

  return {
    /** Ends everything now. */
    end,
    later: (ending: () => Promise<unknown>) => void ends.push(ending),
    /** @returns the URL of a server */
    async serve(answer: RequestListener): Promise<string> {
      const server = createServer(answer).listen(0, '127.0.0.1');
      ends.push(async () => {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      });
      await new Promise((resolve) => server.once('listening', resolve));
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    },
  };
}

/** The option for a server, with a login. */
export function managementAt(url: string): ResolvedManagement {
  const management = resolveManagement({ url, username: 'monitor', password: 'covert' });
  if (management === null) throw new Error('No management.');
  return management;
}
