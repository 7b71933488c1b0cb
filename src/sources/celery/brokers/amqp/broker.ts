/** Celery's broker on RabbitMQ: which one it is, and its parts. */
import { endpointOf } from '../../../../amqp/amqplib.ts';
import { type AmqpConnection, createAmqpConnection } from '../../../../amqp/connection.ts';
import type { AmqpEndpoint } from '../../../../amqp/endpoint.ts';
import { hostEndpoint, isAmqpConnection } from '../../../../amqp/host-connection.ts';
import { amqpError, describeAmqpError } from '../../../../amqp/problems.ts';
import { type AmqpContext, isAmqpUrl, parseAmqpUrls } from '../../../../amqp/urls.ts';
import { requirePackage } from '../../../../server-problems.ts';
import { tlsSetting } from '../../../../tls.ts';
import type { Broker, BrokerDescription } from '../../broker.ts';
import type { Problem } from '../../problem.ts';
import type { CelerySettings } from '../../settings.ts';
import { deniedHint, diagnoseEvents, permissionLine } from './diagnose.ts';
import { eventQueueOf, type ResolvedEventQueue } from './event-queue.ts';
import { type AmqpEvents, createAmqpEvents } from './events.ts';
import { createAmqpMailbox } from './mailbox.ts';

import { createAmqpQueueReader } from './queues.ts';

/**
 * The RabbitMQ of a deployment, by option and settings.
 *
 * @param broker the option as given
 * @returns `null` if the broker is not RabbitMQ
 * @throws TypeError that says what to write; it never contains a URL
 */
export function amqpEndpoint(broker: unknown, settings: CelerySettings): AmqpEndpoint | null {
  const { broker_url: configured } = settings;
  const urls = typeof configured === 'string' ? configured : configured?.join(';');
  const ofSettings = urls !== undefined && isAmqpUrl(urls) ? urls : null;
  if (isAmqpConnection(broker)) return hostEndpoint(broker, virtualHostOf(ofSettings, settings));
  if (typeof broker === 'string')
    return isAmqpUrl(broker) ? endpointOfUrls(broker, 'broker', settings) : null;
  if (ofSettings === null || (broker !== undefined && broker !== null)) return null;
  return endpointOfUrls(ofSettings, 'settings.broker_url', settings);
}

function endpointOfUrls(urls: string, option: string, settings: CelerySettings): AmqpEndpoint {
  const addresses = parseAmqpUrls(urls, contextOf(option, settings));
  requirePackage('celerySources', 'amqplib');
  return endpointOf(addresses);
}

function contextOf(option: string, settings: CelerySettings): AmqpContext {
  return {
    option,
    ssl: tlsSetting(settings.broker_use_ssl, 'settings.broker_use_ssl'),
    heartbeat: settings.broker_heartbeat ?? null,
    loginMethod: settings.broker_login_method ?? null,
  };
}

/** The connection of a host does not reveal its virtual host. */
function virtualHostOf(urls: string | null, settings: CelerySettings): string | null {
  return urls === null
    ? null
    : parseAmqpUrls(urls, contextOf('settings.broker_url', settings))[0].virtualHost;
}

/** RabbitMQ's default, since 3.8.17. It does not tell the value. */
const CONSUMER_TIMEOUT_MS = 30 * 60_000;

/** @param queues names of queues that the host gives */
export function createAmqpBroker(
  endpoint: AmqpEndpoint,
  settings: CelerySettings,
  queues: readonly string[],
  eventQueue: ResolvedEventQueue,
): Broker {
  const shuffle = settings.broker_failover_strategy === 'shuffle';
  const connect = (): AmqpConnection => createAmqpConnection({ label: 'broker', endpoint, shuffle });
  const events = createAmqpEvents(endpoint, eventQueueOf(settings, eventQueue), shuffle);
  // Three connections: RabbitMQ stops reading from a publishing connection when it is short of memory, and a user who
  // may not receive events may still read queues.
  const reads = connect();
  const requests = connect();
  const rights = permissionLine(settings, endpoint.virtualHost);
  const control = createAmqpMailbox(requests, settings, rights);

  return {
    events,
    control,
    queues: createAmqpQueueReader(reads, settings, queues),
    describe: () => describeBroker(endpoint, settings, events),
    version: events.version,
    visibilityMs: CONSUMER_TIMEOUT_MS,
    check: (signal) => check(reads, requests, signal),
    deniedHint: (access) => deniedHint(access, rights),
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

function describeBroker(
  endpoint: AmqpEndpoint,
  settings: CelerySettings,
  events: AmqpEvents,
): BrokerDescription {
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
