/** Finds out why no events arrive over RabbitMQ: where else they may be published. */
import { hasExchange } from '../../../../amqp/channel.ts';
import { type AmqpConnection, createAmqpConnection } from '../../../../amqp/connection.ts';
import type { AmqpEndpoint } from '../../../../amqp/endpoint.ts';
import type { BrokerAccess } from '../../broker.ts';
import { type Hint, quoted } from '../../hint.ts';
import type { CelerySettings } from '../../settings.ts';
import type { AmqpEvents } from './events.ts';
import { controlNames, OWN_PREFIX } from './mailbox.ts';

/** The virtual host of a URL that names none. */
const DEFAULT_VIRTUAL_HOST = '/';

/** Parameters of a diagnosis. */
interface DiagnosisOptions {
  readonly endpoint: AmqpEndpoint;
  /** A connection to the virtual host. */
  readonly connection: AmqpConnection;
  readonly events: Pick<AmqpEvents, 'queue' | 'hadExchange'>;
  readonly settings: CelerySettings;
}

/** Looks once. Only the administrator of RabbitMQ can list its virtual hosts and exchanges. */
export async function diagnoseEvents(
  options: DiagnosisOptions,
  signal: AbortSignal,
): Promise<readonly Hint[]> {
  const hint = await exchangeHint(options, signal);
  return hint === null ? [] : [hint];
}

/** Evidence: the exchange of events did not exist before this monitor declared it. */
async function exchangeHint(options: DiagnosisOptions, signal: AbortSignal): Promise<Hint | null> {
  const { endpoint, connection, events, settings } = options;
  if (events.hadExchange() !== false) return null;
  const { exchange } = events.queue;
  const { exchange: pidbox } = controlNames(settings);
  const here =
    endpoint.virtualHost === null ? 'this virtual host' : `the virtual host ${quoted(endpoint.virtualHost)}`;
  if (await hasExchange(connection, pidbox, { signal })) {
    const line = "settings: { event_exchange: '…' }";
    return {
      code: 'wrong_channel',
      component: 'broker',
      sentence:
        `Workers use ${here}, but none has ever declared the exchange ${quoted(exchange)}, where this source listens. ` +
        `If event_exchange is set in the app, write ${line}. Otherwise start the workers with -E.`,
    };
  }
  const isElsewhere = await isInDefault(endpoint, exchange, signal);
  const line = isElsewhere ? "broker: 'amqp://…/'" : "broker: 'amqp://…/<virtual host>'";
  return {
    code: 'wrong_channel',
    component: 'broker',
    sentence: isElsewhere
      ? `No worker has ever declared the exchange of events in ${here}, but some have in '/'. If they belong to this app, write ${line}.`
      : `No worker has ever declared the exchange of events in ${here}. Compare it with the end of the app's broker_url, and write ${line}.`,
  };
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
export function permissionLine(settings: CelerySettings, virtualHost: string | null): string {
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
export function deniedHint(access: BrokerAccess, rights: string): Hint | null {
  const hint = (what: string): Hint => ({
    code: 'missing_right',
    component: 'broker',
    sentence: `This RabbitMQ user may not ${what}. Run ${rights}`,
  });
  switch (access) {
    case 'events':
      return hint("receive Celery's events");
    case 'control': {
      return hint('send requests to workers, so their pool, queues and registered tasks are not shown');
    }
    // RabbitMQ has no schedules, and a refused queue is shown without its counts.
    case 'queues':
    case 'schedules':
      return null;
    case 'writes':
      return blockedHint();
  }
}

function blockedHint(): Hint {
  return {
    code: 'broker_read_only',
    component: 'broker',
    sentence:
      'RabbitMQ is short of memory or disk space: it accepts no messages, so clients cannot send tasks. See which of ' +
      'them by rabbitmq-diagnostics alarms.',
  };
}

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
