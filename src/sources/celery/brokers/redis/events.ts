import { NOT_CONNECTED } from '../../../../kept-connection.ts';
import { type Connection, createConnection, type RedisEndpoint } from '../../../../redis/connection.ts';
import type { CeleryRedisConnection, RedisListener } from '../../../../redis/node-redis.ts';
import { escapeGlob, type Subscription } from '../../../../redis/problems.ts';
import type { Steps } from '../../../../scheduler.ts';
import type { BrokerEvents, EventHandlers } from '../../broker.ts';
import { createMessageQueue, type MessageQueue } from '../../message-queue.ts';
import { LONGEST_BODY, parseBody, parseInSteps } from '../../protocol/events.ts';
import { parseBounded } from '../../protocol/python-json.ts';
import type { CelerySettings } from '../../settings.ts';

/** A message of more characters is decoded in steps: some hundred events. */
const LONG_MESSAGE = 64 * 1024;

/** Events over Redis, with data that only the broker needs. */
interface RedisEvents extends BrokerEvents {
  close(): Promise<void>;
}

/** Receives Celery's events, which are published in Redis. A disconnected subscriber misses them. */
export function createRedisEvents(endpoint: RedisEndpoint, settings: CelerySettings): RedisEvents {
  const subscriptions = eventSubscriptions(settings, endpoint.database);
  let connection: Connection | null = null;
  let queue: MessageQueue<string> | null = null;
  return {
    channels: subscriptions.map(({ name }) => name),
    start(handlers) {
      const messages = createMessageQueue<string>({
        kind: 'events',
        sizeOf: ({ length }) => length,
        take: (message) => takeMessage(message, handlers),
        lost: handlers.lost,
      });
      queue ??= messages;
      connection ??= createConnection({
        label: 'broker',
        open: (signal) => endpoint.open(signal),
        prepare: (client, heard) =>
          subscribe(client, subscriptions, (message) => {
            heard();
            messages.push(message);
          }),
        onUp: handlers.up,
        onDown: handlers.down,
      });
    },
    state: () => connection?.state() ?? NOT_CONNECTED,
    isBehind: () => queue?.isBehind() ?? false,
    async close() {
      queue?.close();
      await connection?.close();
    },
  };
}

/** @returns steps for a long message; a short one has been delivered */
function takeMessage(message: string, handlers: EventHandlers): Steps<void> | null {
  if (message.length > LONG_MESSAGE) return deliverInSteps(message, handlers);
  deliverMessage(message, handlers);
  return null;
}

function* deliverInSteps(message: string, handlers: EventHandlers): Steps<void> {
  let isContinued = false;
  yield* decodeInSteps(message, (body) => {
    if (body === undefined) handlers.unreadable(contentTypeOf(message));
    else handlers.message(body, isContinued);
    isContinued = true;
  });
}

/** Unwraps one publication. */
export function deliverMessage(
  message: string,
  handlers: Pick<EventHandlers, 'message' | 'unreadable'>,
): void {
  const body = decodeEnvelope(message);
  if (body === undefined) handlers.unreadable(contentTypeOf(message));
  else handlers.message(body);
}

/** Subscribes to patterns with PSUBSCRIBE and to channels with SUBSCRIBE. */
async function subscribe(
  client: CeleryRedisConnection,
  subscriptions: readonly Subscription[],
  listener: RedisListener,
): Promise<void> {
  const namesOf = (kind: Subscription['kind']): string[] =>
    subscriptions.filter((subscription) => subscription.kind === kind).map(({ name }) => name);
  const patterns = namesOf('pattern');
  const channels = namesOf('channel');
  if (patterns.length > 0) await client.pSubscribe(patterns, listener);
  if (channels.length > 0) await client.subscribe(channels, listener);
}

/**
 * How kombu writes every event: the body first, JSON in base64. A few searches then replace parsing the
 * envelope, which is larger than most bodies and of which nothing else is needed.
 */
const HEAD = '{"body": "';
// Without the quote in front: the envelope is full of quotes, and V8 tries a match at each of them.
const JSON_TYPE = 'content-type": "application/json"';
const BASE64 = 'body_encoding": "base64"';
const COMPRESSED = 'compression"';
const CONTENT_TYPE = '"content-type"';

/** Characters of base64, a multiple of four, that are decoded between two pauses. */
const DECODED_AT_ONCE = 256 * 1024;

/** Longest message, and longest body in base64, in characters. */
const LONGEST_MESSAGE = 16 * 1024 * 1024;
const LONGEST_ENCODED = Math.ceil((LONGEST_BODY * 4) / 3);

/** Bytes of the body that is decoded now. Reused: a buffer for each message takes longer than decoding it. */
const decoded = Buffer.allocUnsafeSlow(64 * 1024);

/**
 * The parsed body of a message: one event (an object) or several (an array).
 *
 * @returns `undefined` when the body has another content type, or cannot be read
 */
function decodeEnvelope(message: string): unknown {
  const body = encodedBody(message);
  const text = body === null ? bodyOfAnyEnvelope(message) : decodeBase64(body);
  return text === null ? undefined : parseBody(text);
}

function decodeBase64(text: string): string {
  if (text.length > decoded.length) return Buffer.from(text, 'base64').toString('utf8');
  return decoded.toString('utf8', 0, decoded.write(text, 'base64'));
}

/** The body in base64, if the envelope has the usual form. */
function encodedBody(message: string): string | null {
  if (!message.startsWith(HEAD)) return null;
  const end = message.indexOf('"', HEAD.length);
  const isUsual =
    end > 0 &&
    message.indexOf(JSON_TYPE, end) > 0 &&
    message.indexOf(BASE64, end) > 0 &&
    message.indexOf(COMPRESSED, end) < 0;
  return isUsual ? message.slice(HEAD.length, end) : null;
}

/**
 * Decodes a long message in steps: an array of events a few at a time, and everything else as a whole.
 *
 * @param take receives what {@link decodeEnvelope} would return, or one part of the array after the other
 */
function* decodeInSteps(message: string, take: (body: unknown) => void): Steps<void> {
  if (message.length > LONGEST_MESSAGE) return take(undefined);
  const encoded = encodedBody(message);
  if (encoded !== null && encoded.length > LONGEST_ENCODED) return take(undefined);
  const text = encoded === null ? bodyOfAnyEnvelope(message) : yield* decodedInSteps(encoded);
  yield;
  if (text === null || text.length > LONGEST_BODY) return take(undefined);
  yield* parseInSteps(text, take);
}

function* decodedInSteps(encoded: string): Steps<string> {
  const bytes = Buffer.allocUnsafe(Math.ceil((encoded.length * 3) / 4));
  let length = 0;
  for (let at = 0; at < encoded.length; at += DECODED_AT_ONCE) {
    length += bytes.write(encoded.slice(at, at + DECODED_AT_ONCE), length, 'base64');
    yield;
  }
  return bytes.toString('utf8', 0, length);
}

/** The content type in the envelope, after the body; `null` if there is none. */
function contentTypeOf(message: string): string | null {
  const at = message.indexOf(CONTENT_TYPE);
  if (at < 0) return null;
  const rest = message.slice(at + CONTENT_TYPE.length, at + CONTENT_TYPE.length + 100);
  return /^\s*:\s*"([^"]*)"/.exec(rest)?.[1] ?? null;
}

/** The body of every other valid form: members in another order, a plain body, other spaces. */
function bodyOfAnyEnvelope(message: string): string | null {
  const envelope = parseEnvelope(message);
  if (typeof envelope !== 'object' || envelope === null) return null;
  const { body, headers, properties, 'content-type': type } = envelope as Record<string, unknown>;
  if (type !== 'application/json' || typeof body !== 'string') return null;
  if (typeof (headers as { compression?: unknown } | null)?.compression === 'string') return null;
  const encoding = (properties as { body_encoding?: unknown } | null)?.body_encoding;
  if (encoding !== 'base64') return body;
  return body.length > LONGEST_ENCODED ? null : decodeBase64(body);
}

function parseEnvelope(message: string): unknown {
  try {
    return parseBounded(message);
  } catch {
    return null;
  }
}

/**
 * The channels on which events are published (kombu/transport/redis.py):
 * `<global_keyprefix><fanout_prefix><event_exchange>/<routing key>`, or without the routing key where `fanout_patterns` is
 * off.
 *
 * @param database number of the broker's database; it is only a text in the name, since Redis publishes
 *   to all databases
 */
export function eventSubscriptions(settings: CelerySettings, database: number): Subscription[] {
  const options = settings.broker_transport_options ?? {};
  const exchange = settings.event_exchange ?? 'celeryev';
  return fanoutPrefixes(settings, database).map((prefix) => {
    const name = `${options.global_keyprefix ?? ''}${prefix}${exchange}`;
    return options.fanout_patterns === false
      ? { kind: 'channel', name }
      : { kind: 'pattern', name: `${escapeGlob(name)}/*` };
  });
}

function fanoutPrefixes(settings: CelerySettings, database: number): string[] {
  const options = settings.broker_transport_options ?? {};
  const wanted = options.fanout_prefix ?? true;
  if (wanted === false || wanted === '') return [''];
  const template = wanted === true ? '/{db}.' : wanted;
  const prefix = template.replaceAll('{db}', String(database));
  // Behind Sentinel, kombu before 5.4 never filled in the number.
  return isSentinel(settings) && template !== prefix ? [prefix, template] : [prefix];
}

function isSentinel(settings: CelerySettings): boolean {
  return typeof settings.broker_transport_options?.master_name === 'string';
}
