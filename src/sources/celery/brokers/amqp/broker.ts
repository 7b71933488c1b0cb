import { type AmqpConnection, createAmqpConnection } from '../../../../amqp/connection.ts';
import type { AmqpEndpoint } from '../../../../amqp/endpoint.ts';
import { amqpError, describeAmqpError } from '../../../../amqp/problems.ts';
import type { Broker, BrokerDescription } from '../../broker.ts';
import type { Problem } from '../../problem.ts';
import type { CelerySettings } from '../../settings.ts';
import { diagnoseEvents } from './diagnose.ts';
import { eventQueueOf, type ResolvedEventQueue } from './event-queue.ts';
import { type AmqpEvents, createAmqpEvents } from './events.ts';
import { createAmqpMailbox } from './mailbox.ts';
import { deniedHint, permissionLine } from './permissions.ts';
import { createAmqpQueueReader } from './queues.ts';

/** Parameters of a broker on RabbitMQ. */
export interface AmqpBrokerOptions {
  readonly endpoint: AmqpEndpoint;
  readonly settings: CelerySettings;
  /** Names of queues that the host gives. */
  readonly queues: readonly string[];
  readonly eventQueue: ResolvedEventQueue;
}

/** A broker on RabbitMQ. */
export function createAmqpBroker(options: AmqpBrokerOptions): Broker {
  const { endpoint, settings, queues: given, eventQueue } = options;
  const { virtualHost } = endpoint;
  const shuffle = settings.broker_failover_strategy === 'shuffle';
  const connect = (): AmqpConnection => createAmqpConnection({ label: 'broker', endpoint, shuffle });
  const events = createAmqpEvents(endpoint, eventQueueOf(settings, eventQueue), shuffle);
  // Three connections: RabbitMQ stops reading from a publishing connection when it is short of memory, and a user who
  // may not receive events may still read queues.
  const reads = connect();
  const requests = connect();
  const subject = { settings, virtualHost };
  const control = createAmqpMailbox(requests, settings, () => permissionLine(subject));

  return {
    events,
    control,
    queues: createAmqpQueueReader(reads, settings, given),
    describe: () => describeBroker(options, events),
    check: (signal) => check(reads, requests, signal),
    deniedHint: (access) => deniedHint(access, subject),
    diagnose: (signal) => diagnoseEvents({ endpoint, connection: reads, events, settings }, signal),
    async close() {
      await Promise.all([events.close(), control.close(), reads.close()]);
    },
  };
}

/**
 * Nothing is published for it: RabbitMQ reports that it accepts no messages after a request was sent to the workers.
 */
async function check(
  reads: AmqpConnection,
  requests: AmqpConnection,
  signal: AbortSignal,
): Promise<Problem | null> {
  try {
    const channel = await reads.channel({}, { signal });
    await channel.close();
  } catch (error) {
    return describeAmqpError(error);
  }
  return requests.isBlocked() ? BLOCKED : null;
}

function describeBroker({ endpoint, settings }: AmqpBrokerOptions, events: AmqpEvents): BrokerDescription {
  return {
    url: urlsOf(endpoint),
    config: {
      transport: 'amqp',
      virtual_host: endpoint.virtualHost,
      connected_to: events.state().up ? events.url() : null,
      version: events.version(),
      event_queue: events.queue.name(),
      // Only the names, because the values may be passwords.
      transport_options: Object.keys(settings.broker_transport_options ?? {}),
    },
  };
}

/** All hosts, in the order in which they are given. */
function urlsOf({ hosts, url }: AmqpEndpoint): string | null {
  const urls = Array.from({ length: hosts }, (_, host) => url(host));
  return urls.includes(null) ? null : urls.join(';');
}

const BLOCKED: Problem = {
  ...amqpError('BLOCKED').problem,
  code: 'READONLY',
};
