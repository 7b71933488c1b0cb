/** Publishes to RabbitMQ like Celery's workers and clients. */

import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { type ChannelModel, type ConfirmChannel, connect } from 'amqplib';

/** One recorded message on the exchange of events. */
export interface AmqpRecorded {
  readonly routing_key: string;
  readonly body: string;
}

/** The recorded run over RabbitMQ. */
export function amqpRecording(): readonly AmqpRecorded[] {
  const url = new URL('../celery/recordings/events-A5-amqp.jsonl.gz', import.meta.url);
  const lines = gunzipSync(readFileSync(url)).toString('utf8').trim().split('\n');
  return lines.map((line) => JSON.parse(line) as AmqpRecorded);
}

/** Publishes events as kombu does. */
export interface AmqpPublisher {
  /** The body as kombu encodes it. Default routing key `task.multi`. */
  publish(body: object | string, routingKey?: string, options?: object): void;
  /** Resolves when RabbitMQ has accepted everything. */
  confirmed(): Promise<void>;
  readonly connection: ChannelModel;
  readonly channel: ConfirmChannel;
  close(): Promise<void>;
}

/** @param exchange default `celeryev`, which is declared as workers declare it */
export async function amqpPublisher(url: string, exchange = 'celeryev'): Promise<AmqpPublisher> {
  const connection = await connect(url);
  connection.on('error', () => {});
  const channel = await connection.createConfirmChannel();
  channel.on('error', () => {});
  await channel.assertExchange(exchange, 'topic', { durable: true });
  return {
    connection,
    channel,
    publish(body, routingKey = 'task.multi', options = {}) {
      const content = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
      channel.publish(exchange, routingKey, content, {
        contentType: 'application/json',
        contentEncoding: 'utf-8',
        headers: { hostname: 'w1@alpha' },
        persistent: false,
        ...options,
      });
    },
    confirmed: () => channel.waitForConfirms(),
    close: () => connection.close().catch(() => {}),
  };
}

/** `task-received` of a worker, now. */
export function receivedEvent(uuid: string): object {
  const timestamp = Date.now() / 1000;
  return {
    type: 'task-received',
    uuid,
    name: 'shop.pay',
    hostname: 'w1@alpha',
    pid: 1,
    timestamp,
    root_id: uuid,
  };
}
