/** How kombu's Redis transport wraps requests and replies of remote control (kombu/transport/virtual/base.py). */

import { recordOf } from '../../../../values.ts';
import type { ControlRequest, ReplyMessage } from '../../broker.ts';
import { isControlId } from '../../control/encoder.ts';
import { parsePythonJson } from '../../protocol/python-json.ts';
import type { ControlAddress } from './control-address.ts';

/** The envelope of a request besides its body. */
export interface EnvelopeIds {
  /** Names the client's reply list. */
  readonly oid: string;
  readonly deliveryTag: string;
}

/**
 * The message that Celery's own client publishes. A message without `delivery_tag` would end every worker.
 *
 * @throws TypeError for a malformed id
 */
export function wrapRequest(
  request: ControlRequest,
  address: ControlAddress,
  { oid, deliveryTag }: EnvelopeIds,
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
