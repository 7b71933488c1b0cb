/**
 * The only place that makes remote control requests. kombu reads their fields without checks, and a
 * broadcast reaches every worker at once, so one malformed message ends all of them. Commands and their
 * arguments are therefore constants. Everything else in a body is a random id, the name of an exchange,
 * or the name of a worker, and each of them is checked.
 */
import type { ControlRequest } from '../broker.ts';

/** Commands that only ask. */
export type InspectCommand =
  | 'ping'
  | 'stats'
  | 'active'
  | 'reserved'
  | 'registered'
  | 'active_queues'
  | 'conf';

/** All commands. `enable_events` makes workers send task events until they restart. */
export type ControlCommand = InspectCommand | 'enable_events';

/** Arguments of each command (celery/worker/control.py). */
const ARGUMENTS: Readonly<Record<ControlCommand, Readonly<Record<string, boolean>>>> = Object.freeze({
  ping: Object.freeze({}),
  stats: Object.freeze({}),
  // Asks for the reprs of arguments, in which the sender may have masked secrets.
  active: Object.freeze({ safe: true }),
  reserved: Object.freeze({}),
  registered: Object.freeze({}),
  active_queues: Object.freeze({}),
  conf: Object.freeze({ with_defaults: false }),
  enable_events: Object.freeze({}),
});

/** Ids consist of characters that mean the same in JSON, in keys, in bindings and in routing keys. */
const ID = /^[\w.-]{1,128}$/;

/** kombu and Celery accept any text around an `@`. */
const NODE_NAME = /^[^\p{Cc}\p{Cs}]*@[^\p{Cc}\p{Cs}]*$/u;
const MAX_NAME = 255;

/** Whether a text may name a worker in a request. */
export function isNodeName(text: string): boolean {
  return text.length <= MAX_NAME && NODE_NAME.test(text);
}

/** Whether a text may be an id in a request or in its envelope. */
export function isControlId(text: string): boolean {
  return ID.test(text);
}

/**
 * A request with the body, byte for byte, that Celery's own client sends.
 *
 * @param workers node names of the workers that are to act on it; `null`: all workers
 * @throws TypeError for an unknown command, for names that no worker can have, and for a malformed id
 */
export function createRequest(
  command: ControlCommand,
  workers: readonly string[] | null,
  { ticket, expires }: Pick<ControlRequest, 'ticket' | 'expires'>,
): ControlRequest {
  if (!Object.hasOwn(ARGUMENTS, command)) throw new TypeError('There is no such remote control command.');
  // Celery treats an empty list as "all workers".
  if (workers === null ? !isForAll(command) : workers.length === 0 || !workers.every(isNodeName)) {
    throw new TypeError('A remote control request needs workers.');
  }
  if (!isControlId(ticket) || !Number.isFinite(expires)) {
    throw new TypeError('A remote control request needs a ticket and a time.');
  }
  return Object.freeze({
    ticket,
    expires,
    body(exchange: string, routingKey: string) {
      if (!isControlId(routingKey)) throw new TypeError('A remote control request needs a routing key.');
      return JSON.stringify({
        method: command,
        arguments: ARGUMENTS[command],
        destination: workers,
        pattern: null,
        matcher: null,
        ticket,
        reply_to: { exchange, routing_key: routingKey },
      });
    },
  });
}

/** Commands that every worker can answer, whatever its serializer. All others are sent to named workers. */
function isForAll(command: ControlCommand): boolean {
  return command === 'ping' || command === 'enable_events';
}
