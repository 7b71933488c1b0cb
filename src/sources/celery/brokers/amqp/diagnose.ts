/** Finds out why no events arrive over RabbitMQ: where else they may be published. */
import { hasExchange } from '../../../../amqp/channel.ts';
import { type AmqpConnection, createAmqpConnection } from '../../../../amqp/connection.ts';
import type { AmqpEndpoint } from '../../../../amqp/endpoint.ts';
import { type Hint, quoted } from '../../hint.ts';
import type { CelerySettings } from '../../settings.ts';
import type { AmqpEvents } from './events.ts';
import { controlNames } from './mailbox.ts';

/** The virtual host of a URL that names none. */
const DEFAULT_VIRTUAL_HOST = '/';

/** Parameters of a diagnosis. */
export interface DiagnosisOptions {
  readonly endpoint: AmqpEndpoint;
  /** A connection to the virtual host. */
  readonly connection: AmqpConnection;
  readonly events: Pick<AmqpEvents, 'queue' | 'hadExchange'>;
  readonly settings: CelerySettings;
}

/** Looks once. Only the administrator of RabbitMQ can list its virtual hosts and exchanges. */
export async function diagnoseEvents(
  options: DiagnosisOptions,
  signal: AbortSignal,
): Promise<readonly Hint[]> {
  const hint = await exchangeHint(options, signal);
  return hint === null ? [] : [hint];
}

/** Evidence: the exchange of events did not exist before this monitor declared it. */
async function exchangeHint(options: DiagnosisOptions, signal: AbortSignal): Promise<Hint | null> {
  const { endpoint, connection, events, settings } = options;
  if (events.hadExchange() !== false) return null;
  const { exchange } = events.queue;
  const { exchange: pidbox } = controlNames(settings);
  const here =
    endpoint.virtualHost === null ? 'this virtual host' : `the virtual host ${quoted(endpoint.virtualHost)}`;
  if (await hasExchange(connection, pidbox, { signal })) {
    const line = "settings: { event_exchange: '…' }";
    return {
      code: 'wrong_channel',
      component: 'broker',
      sentence:
        `Workers use ${here}, but none has ever declared the exchange ${quoted(exchange)}, where this source listens. ` +
        `If event_exchange is set in the app, write ${line}. Otherwise start the workers with -E.`,
    };
  }
  const isElsewhere = await isInDefault(endpoint, exchange, signal);
  const line = isElsewhere ? "broker: 'amqp://…/'" : "broker: 'amqp://…/<virtual host>'";
  return {
    code: 'wrong_channel',
    component: 'broker',
    sentence: isElsewhere
      ? `No worker has ever declared the exchange of events in ${here}, but some have in '/'. If they belong to this app, write ${line}.`
      : `No worker has ever declared the exchange of events in ${here}. Compare it with the end of the app's broker_url, and write ${line}.`,
  };
}

async function isInDefault(endpoint: AmqpEndpoint, exchange: string, signal: AbortSignal): Promise<boolean> {
  if (endpoint.virtualHost === DEFAULT_VIRTUAL_HOST) return false;
  const other = endpoint.inVirtualHost(DEFAULT_VIRTUAL_HOST);
  if (other === null) return false;
  const connection = createAmqpConnection({ label: 'diagnosis', endpoint: other });
  try {
    return await hasExchange(connection, exchange, { signal });
  } catch {
    // The user may not use it.
    return false;
  } finally {
    await connection.close();
  }
}
