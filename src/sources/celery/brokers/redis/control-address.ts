/** Where remote control messages go and their replies come back (kombu/pidbox.py, kombu/transport/redis.py). */

import type { CelerySettings } from '../../settings.ts';
import { eventSubscriptions } from './channels.ts';

/** kombu's default between the three parts of a binding. */
const SEPARATOR = '\x06\x16';
const PRIORITY_STEPS = [0, 3, 6, 9];

/** The names that remote control of one deployment uses in Redis. */
export interface ControlAddress {
  /** The exchange that every worker listens on. */
  readonly exchange: string;
  /** The exchange of replies. */
  readonly replyExchange: string;
  /** What to publish on; a worker listens on exactly one of them. */
  readonly channels: readonly string[];
  /** The set that tells workers where replies go. */
  readonly bindingKey: string;
  /** Its member for the replies to one asker. */
  member(oid: string): string;
  /** The asker of such a member; `null` when it is of another form. */
  oidOf(member: string): string | null;
  /** The set that workers write themselves into when they begin to listen; they never leave it. */
  readonly listenersKey: string;
  /** Whether a member of it is written as this address would write it. */
  isListener(member: string): boolean;
  /** The list that the replies to this asker come into. */
  replyKey(oid: string): string;
  /** Why nothing may be sent to these workers; `null` when it may. */
  readonly fault: string | null;
}

/** @param database number of the broker's database, which is a part of the channels' names */
export function controlAddress(settings: CelerySettings, database: number): ControlAddress {
  const options = settings.broker_transport_options ?? {};
  const prefix = options.global_keyprefix ?? '';
  const separator = options.sep ?? SEPARATOR;
  const exchange = `${settings.control_exchange ?? 'celery'}.pidbox`;
  const replyExchange = `reply.${exchange}`;
  // One channel without a routing key, as that of an exchange of events with patterns switched off.
  const channels = eventSubscriptions(
    {
      ...settings,
      event_exchange: exchange,
      broker_transport_options: { ...options, fanout_patterns: false },
    },
    database,
  ).map(({ name }) => name);
  const suffix = prioritySuffix(options.priority_steps ?? PRIORITY_STEPS, separator);
  const queueOf = (oid: string): string => `${oid}.${replyExchange}`;
  const memberOf = (oid: string): string => `${oid}${separator}${separator}${queueOf(oid)}`;
  const isHeard = channels.every((name) => exchangeHeard(name.slice(prefix.length)) === exchange);
  return Object.freeze({
    exchange,
    replyExchange,
    channels: Object.freeze(channels),
    bindingKey: `${prefix}_kombu.binding.${replyExchange}`,
    member: memberOf,
    oidOf: (member: string) => {
      const oid = member.slice(0, Math.max(0, member.indexOf(separator)));
      return oid !== '' && member === memberOf(oid) ? oid : null;
    },
    listenersKey: `${prefix}_kombu.binding.${exchange}`,
    // Neither a routing key nor a pattern, then the worker's queue.
    isListener: (member: string) => member.startsWith(`${separator}${separator}`),
    replyKey: (oid: string) => `${prefix}${queueOf(oid)}${suffix}`,
    fault: isHeard
      ? null
      : 'Workers cannot read remote control messages with this fanout_prefix or control_exchange: ' +
        'a fanout_prefix begins with / and ends in the only dot that it has, a control_exchange has no /.',
  });
}

/**
 * The exchange that kombu takes a channel's name for (`Channel._receive_one`). When it is not the one
 * that a worker consumes, each worker that hears the message ends with a KeyError.
 */
function exchangeHeard(channel: string): string {
  const dot = channel.indexOf('.');
  const name = !channel.startsWith('/') ? channel : dot < 0 ? '' : channel.slice(dot + 1);
  return name.split('/', 1)[0] ?? '';
}

/** Replies have priority 0: the highest step that is no higher, else the last one (`Channel.priority`). */
function prioritySuffix(steps: readonly number[], separator: string): string {
  const step = steps.filter((value) => value <= 0).at(-1) ?? steps.at(-1) ?? 0;
  return step === 0 ? '' : `${separator}${step}`;
}
