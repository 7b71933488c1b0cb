/** Celery's broker on RabbitMQ: which one it is, and its parts. */

import {
  type AmqpContext,
  type AmqpEndpoint,
  endpointOf,
  hostEndpoint,
  isAmqpConnection,
  isAmqpUrl,
  parseAmqpUrls,
} from '../../../../amqp/amqplib.ts';
import { hasExchange } from '../../../../amqp/channel.ts';
import { type AmqpConnection, createAmqpConnection } from '../../../../amqp/connection.ts';
import { amqpError, describeAmqpError } from '../../../../amqp/problems.ts';
import { requirePackage } from '../../../../server-problems.ts';
import { tlsSetting } from '../../../../tls.ts';
import type { Broker, BrokerAccess, ServerDescription } from '../../broker.ts';
import { type Hint, type Problem, quoted } from '../../hint.ts';
import type { CelerySettings } from '../../settings.ts';
import { type AmqpEvents, createAmqpEvents, eventQueueOf, type ResolvedEventQueue } from './events.ts';
import { controlNames, createAmqpMailbox, OWN_PREFIX } from './mailbox.ts';
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
    diagnose: (signal) => diagnoseEvents(endpoint, reads, events, settings, signal),
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
): ServerDescription {
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

const BLOCKED: Problem = { ...amqpError('BLOCKED').problem, code: 'READONLY' };

/** The virtual host of a URL that names none. */
const DEFAULT_VIRTUAL_HOST = '/';

/**
 * Looks once where else events are published. Only RabbitMQ's administrator can list virtual hosts and exchanges.
 * Evidence: the exchange of events did not exist before this monitor declared it.
 */
async function diagnoseEvents(
  endpoint: AmqpEndpoint,
  connection: AmqpConnection,
  events: AmqpEvents,
  settings: CelerySettings,
  signal: AbortSignal,
): Promise<readonly Hint[]> {
  if (events.hadExchange() !== false) return [];
  const { exchange } = events.queue;
  const hint = (sentence: string): Hint[] => [{ code: 'wrong_channel', component: 'broker', sentence }];
  const here =
    endpoint.virtualHost === null ? 'this virtual host' : `the virtual host ${quoted(endpoint.virtualHost)}`;
  if (await hasExchange(connection, controlNames(settings).exchange, { signal })) {
    const line = "settings: { event_exchange: '…' }";
    return hint(
      `Workers use ${here}, but none has ever declared the exchange ${quoted(exchange)}, where this source listens. ` +
        `If event_exchange is set in the app, write ${line}. Otherwise start the workers with -E.`,
    );
  }
  const isElsewhere = await isInDefault(endpoint, exchange, signal);
  const line = isElsewhere ? "broker: 'amqp://…/'" : "broker: 'amqp://…/<virtual host>'";
  return hint(
    isElsewhere
      ? `No worker has ever declared the exchange of events in ${here}, but some have in '/'. If they belong to this app, write ${line}.`
      : `No worker has ever declared the exchange of events in ${here}. Compare it with the end of the app's broker_url, and write ${line}.`,
  );
}

async function isInDefault(endpoint: AmqpEndpoint, exchange: string, signal: AbortSignal): Promise<boolean> {
  if (endpoint.virtualHost === DEFAULT_VIRTUAL_HOST) return false;
  const other = endpoint.inVirtualHost(DEFAULT_VIRTUAL_HOST);
  if (other === null) return false;
  const connection = createAmqpConnection({ label: 'diagnosis', endpoint: other });
  try {
    return await hasExchange(connection, exchange, { signal });
  } catch {
    // The user may not use it.
    return false;
  } finally {
    await connection.close();
  }
}

/**
 * The command that gives a user the least that it needs, as it is typed into a shell: queues of our own, bound to the
 * exchanges of events and of replies, and the exchange that requests are published to. No queue of the app is among
 * them.
 *
 * @param virtualHost `null` if unknown
 */
function permissionLine(settings: CelerySettings, virtualHost: string | null): string {
  const { exchange, replyExchange } = controlNames(settings);
  const own = `${escapePattern(OWN_PREFIX)}.*`;
  const anyOf = (...names: string[]): string =>
    shellQuoted(`^(${[own, ...names.map(escapePattern)].join('|')})$`);
  const configure = anyOf(replyExchange);
  const write = anyOf(exchange);
  const read = anyOf(settings.event_exchange ?? 'celeryev', replyExchange);
  return `rabbitmqctl set_permissions -p ${shellName(virtualHost)} <user> ${configure} ${write} ${read}`;
}

/**
 * The hint for a right that the user lacks; `null` for what is not in RabbitMQ.
 *
 * @param rights what {@link permissionLine} says
 */
function deniedHint(access: BrokerAccess, rights: string): Hint | null {
  const hint = (what: string): Hint => ({
    code: 'missing_right',
    component: 'broker',
    sentence: `This RabbitMQ user may not ${what}. Run ${rights}`,
  });
  switch (access) {
    case 'events':
      return hint("receive Celery's events");
    case 'control':
      return hint('send requests to workers, so their pool, queues and registered tasks are not shown');
    // RabbitMQ has no schedules, and a refused queue is shown without its counts.
    case 'queues':
    case 'schedules':
      return null;
    case 'writes':
      return BLOCKED_HINT;
  }
}

const BLOCKED_HINT: Hint = {
  code: 'broker_read_only',
  component: 'broker',
  sentence:
    'RabbitMQ is short of memory or disk space: it accepts no messages, so clients cannot send tasks. See which of ' +
    'them by rabbitmq-diagnostics alarms.',
};

/** A pattern that matches nothing else. */
function escapePattern(name: string): string {
  return name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

function shellName(name: string | null): string {
  if (name === null) return '<vhost>';
  return /^[\w./:@%+-]+$/.test(name) ? name : shellQuoted(name);
}

function shellQuoted(text: string): string {
  // Control characters could hide the effect of a pasted line.
  return `'${text.replace(/\p{C}/gu, '?').replaceAll("'", "'\\''")}'`;
}
