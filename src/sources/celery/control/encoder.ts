/**
 * The only place that makes remote control messages. kombu indexes their fields without checks, and a
 * broadcast reaches every worker at once: one message without `delivery_tag` ends them all. So the
 * commands and their arguments are constants, and nothing from outside shapes an envelope but random
 * ids of our own, the clock, the name of the exchange and names of workers.
 */
import type { ControlAddress } from './address.ts';

/** Commands that only ask. */
export type InspectCommand =
  | 'ping'
  | 'stats'
  | 'active'
  | 'reserved'
  | 'scheduled'
  | 'registered'
  | 'active_queues'
  | 'conf';

/** All that can be sent. `enable_events` makes workers send task events until they restart. */
export type ControlCommand = InspectCommand | 'enable_events';

/** Arguments of each command (celery/worker/control.py). */
const ARGUMENTS: Readonly<Record<ControlCommand, Readonly<Record<string, boolean>>>> = Object.freeze({
  ping: Object.freeze({}),
  stats: Object.freeze({}),
  // Arguments as the reprs that their sender may have masked, not as they are.
  active: Object.freeze({ safe: true }),
  reserved: Object.freeze({}),
  scheduled: Object.freeze({}),
  registered: Object.freeze({}),
  active_queues: Object.freeze({}),
  conf: Object.freeze({ with_defaults: false }),
  enable_events: Object.freeze({}),
});

/** Every command that can be sent. */
export const CONTROL_COMMANDS: readonly ControlCommand[] = Object.freeze(
  Object.keys(ARGUMENTS) as ControlCommand[],
);

/** Commands that every worker can answer, in whatever encoding its replies are; all others go to named workers. */
export type OpenCommand = 'ping' | 'enable_events';

/** What tells one message from another. */
export interface MessageIds {
  /** Replies carry it. */
  readonly ticket: string;
  /** Replies are sent to its list. */
  readonly oid: string;
  readonly deliveryTag: string;
  /** Seconds since 1970. Workers do not look at it. */
  readonly expires: number;
}

/** Ids have no other characters, so that they mean the same in JSON, in keys and in bindings. */
const ID = /^[\w.-]{1,128}$/;

/** kombu and Celery let a name be anything around an `@`. */
const NODE_NAME = /^[^\p{Cc}\p{Cs}]*@[^\p{Cc}\p{Cs}]*$/u;
const MAX_NAME = 255;

/** Whether a text may name a worker in a message. */
export function isNodeName(text: string): boolean {
  return text.length <= MAX_NAME && NODE_NAME.test(text);
}

/**
 * The message, byte for byte, that Celery's own client sends.
 *
 * @param workers node names of those who are to act on it; `null`: all
 * @throws TypeError for a command, an id or workers that are none
 */
export function encodeMessage(
  command: ControlCommand,
  workers: readonly string[] | null,
  address: ControlAddress,
  ids: MessageIds,
): string {
  const { ticket, oid, deliveryTag, expires } = ids;
  if (!Object.hasOwn(ARGUMENTS, command)) throw new TypeError('There is no such remote control command.');
  if (![ticket, oid, deliveryTag].every((id) => ID.test(id)) || !Number.isFinite(expires)) {
    throw new TypeError('A remote control message needs ids and a time.');
  }
  // Celery takes an empty list for all workers.
  if (workers === null ? !isOpen(command) : workers.length === 0 || !workers.every(isNodeName)) {
    throw new TypeError('A remote control message needs workers.');
  }
  const body = JSON.stringify({
    method: command,
    arguments: ARGUMENTS[command],
    destination: workers,
    pattern: null,
    matcher: null,
    ticket,
    reply_to: { exchange: address.replyExchange, routing_key: oid },
  });
  return JSON.stringify({
    body: Buffer.from(body, 'utf8').toString('base64'),
    'content-encoding': 'utf-8',
    'content-type': 'application/json',
    headers: { clock: 1, expires },
    properties: {
      delivery_mode: 2,
      delivery_info: { exchange: address.exchange, routing_key: '' },
      priority: 0,
      body_encoding: 'base64',
      delivery_tag: deliveryTag,
    },
  });
}

function isOpen(command: ControlCommand): command is OpenCommand {
  return command === 'ping' || command === 'enable_events';
}
