import type { AmqpMessage } from '../../../../amqp/client.ts';
import type { Steps } from '../../../../scheduler.ts';
import type { EventHandlers } from '../../broker.ts';
import { LONGEST_BODY, parseBody, parseInSteps } from '../../protocol/event-body.ts';

/** A message of more bytes is parsed in steps: some hundred events. */
const LONG_MESSAGE = 64 * 1024;

/**
 * Hands over the events of one message.
 *
 * @returns steps for a long message; a short one has been delivered
 */
export function takeMessage(message: AmqpMessage, handlers: EventHandlers): Steps<void> | null {
  const { content, properties } = message;
  if (!isJson(properties) || content.length > LONGEST_BODY) handlers.unreadable(contentTypeOf(properties));
  else if (content.length > LONG_MESSAGE) return deliverInSteps(content.toString('utf8'), handlers);
  else deliver(parseBody(content.toString('utf8')), handlers);
  return null;
}

function* deliverInSteps(text: string, handlers: EventHandlers): Steps<void> {
  yield;
  let isContinued = false;
  yield* parseInSteps(text, (body) => {
    deliver(body, handlers, isContinued);
    isContinued = true;
  });
}

function deliver(body: unknown, handlers: EventHandlers, isContinued = false): void {
  if (body === undefined) handlers.unreadable('application/json');
  else handlers.message(body, isContinued);
}

/** kombu compresses bodies if `event_serializer` or a signal of the app requires it. */
function isJson({ contentType, headers }: AmqpMessage['properties']): boolean {
  return contentType === 'application/json' && typeof headers?.compression !== 'string';
}

function contentTypeOf({ contentType }: AmqpMessage['properties']): string | null {
  return typeof contentType === 'string' ? contentType.slice(0, 100) : null;
}
