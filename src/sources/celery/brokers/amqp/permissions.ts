/** What a RabbitMQ user needs (https://www.rabbitmq.com/docs/access-control). */
import type { BrokerAccess } from '../../broker.ts';
import type { Hint } from '../../hint.ts';
import type { CelerySettings } from '../../settings.ts';
import { controlNames, OWN_PREFIX } from './mailbox.ts';

/** The regular expressions of `rabbitmqctl set_permissions`. */
export interface Permissions {
  readonly configure: string;
  readonly write: string;
  readonly read: string;
}

/** Whose permissions they are. */
export interface PermissionSubject {
  readonly settings: CelerySettings;
  /** `null` if unknown. */
  readonly virtualHost: string | null;
}

/**
 * The least that a user needs: queues of our own, bound to the exchanges of events and of replies, and the exchange
 * that requests are published to. No queue of the app is among them.
 */
function permissionsFor(settings: CelerySettings): Permissions {
  const { exchange, replyExchange } = controlNames(settings);
  const own = `${escapePattern(OWN_PREFIX)}.*`;
  const anyOf = (...names: string[]): string => `^(${[own, ...names.map(escapePattern)].join('|')})$`;
  return {
    configure: anyOf(replyExchange),
    write: anyOf(exchange),
    read: anyOf(settings.event_exchange ?? 'celeryev', replyExchange),
  };
}

/** The command that gives a user all of them, as it is typed into a shell. */
export function permissionLine({ settings, virtualHost }: PermissionSubject): string {
  const { configure, write, read } = permissionsFor(settings);
  const patterns = [configure, write, read].map(shellQuoted).join(' ');
  return `rabbitmqctl set_permissions -p ${shellName(virtualHost)} <user> ${patterns}`;
}

/** The hint for a right that the user lacks; `null` for what is not in RabbitMQ. */
export function deniedHint(access: BrokerAccess, subject: PermissionSubject): Hint | null {
  const hint = (code: Hint['code'], what: string, line: string): Hint => ({
    code,
    component: 'broker',
    sentence: `This RabbitMQ user may not ${what}. Run ${line}`,
    line,
  });
  switch (access) {
    case 'events':
      return hint('acl_events', "receive Celery's events", permissionLine(subject));
    case 'control': {
      const what = 'send requests to workers, so their pool, queues and registered tasks are not shown';
      return hint('acl_control', what, permissionLine(subject));
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
  const line = 'rabbitmq-diagnostics alarms';
  return {
    code: 'broker_read_only',
    component: 'broker',
    sentence:
      'RabbitMQ is short of memory or disk space: it accepts no messages, so clients cannot send tasks. See which of ' +
      `them by ${line}.`,
    line,
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
