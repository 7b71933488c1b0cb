/**
 * Addresses and envelopes of remote control messages and of their replies (kombu/pidbox.py, kombu/transport/redis.py,
 * kombu/transport/virtual/base.py).
 */

import { recordOf } from '../../../../values.ts';
import type { ControlRequest, ReplyMessage } from '../../broker.ts';
import { isControlId } from '../../control/encoder.ts';
import { parsePythonJson } from '../../protocol/python-json.ts';
import type { CelerySettings } from '../../settings.ts';
import { eventSubscriptions } from './events.ts';

/** kombu's default separator of the three parts of a binding. */
const SEPARATOR = '\x06\x16';
const PRIORITY_STEPS = [0, 3, 6, 9];

/** The names that remote control uses in Redis. */
export type ControlAddress = ReturnType<typeof controlAddress>;

/** @param database number of the broker's database, which is a part of the channels' names */
export function controlAddress(settings: CelerySettings, database: number) {
  const options = settings.broker_transport_options ?? {};
  const prefix = options.global_keyprefix ?? '';
  const separator = options.sep ?? SEPARATOR;
  const exchange = `${settings.control_exchange ?? 'celery'}.pidbox`;
  const replyExchange = `reply.${exchange}`;
  // One channel without a routing key, like an exchange of events with patterns turned off.
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
    /** The exchange that all workers listen to. */
    exchange,
    /** The exchange of replies. */
    replyExchange,
    /** The channels to publish on. Each worker listens to exactly one of them. */
    channels: Object.freeze(channels),
    /** The set from which workers learn where to send replies. */
    bindingKey: `${prefix}_kombu.binding.${replyExchange}`,
    /** The member of that set for the replies to one client. */
    member: memberOf,
    /** The client of such a member; `null` if it has another form. */
    oidOf: (member: string) => {
      const oid = member.slice(0, Math.max(0, member.indexOf(separator)));
      return oid !== '' && member === memberOf(oid) ? oid : null;
    },
    /** The set to which workers add themselves when they begin to listen. They are never removed. */
    listenersKey: `${prefix}_kombu.binding.${exchange}`,
    // No routing key and no pattern, then the worker's queue.
    /** Whether a member of it matches this address. */
    isListener: (member: string) => member.startsWith(`${separator}${separator}`),
    /** The list that receives the replies to a client. */
    replyKey: (oid: string) => `${prefix}${queueOf(oid)}${suffix}`,
    /** Why nothing may be sent to these workers; `null` if it may. */
    fault: isHeard
      ? null
      : 'Workers cannot read remote control messages with this fanout_prefix or control_exchange: ' +
        'fanout_prefix must start with / and have its only dot at the end, control_exchange must not contain /.',
  });
}

/**
 * The exchange that kombu derives from a channel's name (`Channel._receive_one`). If a worker does not consume
 * that exchange, the message ends the worker with a KeyError.
 */
function exchangeHeard(channel: string): string {
  const dot = channel.indexOf('.');
  const name = !channel.startsWith('/') ? channel : dot < 0 ? '' : channel.slice(dot + 1);
  return name.split('/', 1)[0] ?? '';
}

/**
 * Replies have priority 0: they use the highest step that is not above 0, or else the last one
 * (`Channel.priority`).
 */
function prioritySuffix(steps: readonly number[], separator: string): string {
  const step = steps.filter((value) => value <= 0).at(-1) ?? steps.at(-1) ?? 0;
  return step === 0 ? '' : `${separator}${step}`;
}

/**
 * The message that Celery's own client publishes. A message without `delivery_tag` would end every worker.
 *
 * @throws TypeError for a malformed id
 */
export function wrapRequest(
  request: ControlRequest,
  address: ControlAddress,
  {
    oid,
    deliveryTag,
  }: {
    /** Names the client's reply list. */
    readonly oid: string;
    readonly deliveryTag: string;
  },
): string {
  if (!isControlId(deliveryTag)) throw new TypeError('A remote control message needs a delivery tag.');
  return JSON.stringify({
    body: Buffer.from(request.body(address.replyExchange, oid), 'utf8').toString('base64'),
    'content-encoding': 'utf-8',
    'content-type': 'application/json',
    headers: { clock: 1, expires: request.expires },
    properties: {
      delivery_mode: 2,
      delivery_info: { exchange: address.exchange, routing_key: '' },
      priority: 0,
      body_encoding: 'base64',
      delivery_tag: deliveryTag,
    },
  });
}

/** @returns `null` for an element of a reply list that is no reply */
export function unwrapReply(element: string): (ReplyMessage & { readonly ticket: string }) | null {
  const envelope = recordOf(parse(element));
  const headers = recordOf(envelope?.headers);
  const ticket = headers?.ticket;
  if (envelope === null || headers === null || typeof ticket !== 'string') return null;
  const { body, 'content-type': type } = envelope;
  if (typeof body !== 'string') return null;
  const encoding = recordOf(envelope.properties)?.body_encoding;
  return {
    ticket,
    contentType: typeof type === 'string' ? type : '',
    isCompressed: typeof headers.compression === 'string',
    body: Buffer.from(body, encoding === 'base64' ? 'base64' : 'utf8'),
  };
}

function parse(text: string): unknown {
  try {
    return parsePythonJson(text);
  } catch {
    return null;
  }
}
