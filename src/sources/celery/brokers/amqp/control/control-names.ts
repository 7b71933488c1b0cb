/** Names of remote control in RabbitMQ (kombu/pidbox.py). */
import { randomUUID } from 'node:crypto';
import type { CelerySettings } from '../../../settings.ts';

/** How the name of each queue of ours begins. */
export const OWN_PREFIX = 'express-task-monitor.';

/** The exchanges of remote control. */
export interface ControlNames {
  /** A fanout that the queues of all workers are bound to. */
  readonly exchange: string;
  /** A direct exchange: the routing key is the id of a client. */
  readonly replyExchange: string;
}

/** Names by the app's settings. */
export function controlNames({ control_exchange }: CelerySettings): ControlNames {
  const exchange = `${control_exchange ?? 'celery'}.pidbox`;
  return { exchange, replyExchange: `reply.${exchange}` };
}

/** A client that receives replies. Its id is never used again, since a lost connection may still hold its queue. */
export function newReplyQueue({ replyExchange }: ControlNames): {
  readonly oid: string;
  readonly queue: string;
} {
  const oid = `${OWN_PREFIX}${randomUUID()}`;
  return { oid, queue: `${oid}.${replyExchange}` };
}
