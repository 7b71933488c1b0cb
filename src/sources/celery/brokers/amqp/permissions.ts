/** What a RabbitMQ user needs (https://www.rabbitmq.com/docs/access-control). */
import type { BrokerAccess } from '../../broker.ts';
import type { Hint } from '../../hint.ts';
import type { CelerySettings } from '../../settings.ts';
import { controlNames, OWN_PREFIX } from './mailbox.ts';

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
