import {
  type IntegerBounds,
  type KeysOf,
  readBoolean,
  readGroup,
  readInteger,
} from '../../../../check-options.ts';

/** Bounds of the queue of events on RabbitMQ. */
export interface EventQueueOptions {
  /**
   * Most messages that RabbitMQ keeps for this instance while it is disconnected or slow. When there are more, the
   * oldest are dropped and the feed says `gap`. A message has one to 24 events, of about 0.5 KB each.
   * 1,000 to 10,000,000, default 100,000.
   */
  readonly maxLength?: number;
  /**
   * Seconds after which RabbitMQ deletes the queue when the instance has not come back. 10 to 86,400, default 300.
   */
  readonly expires?: number;
  /**
   * Whether the queue ends with the connection. Nothing is ever left behind then, and every reconnect is a gap.
   * Default false.
   */
  readonly exclusive?: boolean;
}

/** {@link EventQueueOptions} with defaults. */
export type ResolvedEventQueue = Required<EventQueueOptions>;

const CALLER = 'celerySources';

const KEYS: KeysOf<EventQueueOptions> = { maxLength: true, expires: true, exclusive: true };

const MAX_LENGTH: IntegerBounds = { least: 1_000, most: 10_000_000, fallback: 100_000 };
const EXPIRES: IntegerBounds = { least: 10, most: 86_400, fallback: 300 };

/**
 * Checks the option `eventQueue`.
 *
 * @throws TypeError that says what to write
 */
export function resolveEventQueue(option: unknown): ResolvedEventQueue {
  const given = readGroup(CALLER, 'eventQueue', option, KEYS, '{ maxLength: 100_000 }');
  return {
    maxLength: readInteger(CALLER, 'eventQueue.maxLength', given.maxLength, MAX_LENGTH),
    expires: readInteger(CALLER, 'eventQueue.expires', given.expires, EXPIRES),
    exclusive: readBoolean(CALLER, 'eventQueue.exclusive', given.exclusive, false),
  };
}
