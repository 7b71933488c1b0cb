/** The RabbitMQ of a deployment, by option and settings. */
import { endpointOf } from '../../../../amqp/amqplib.ts';
import type { AmqpEndpoint } from '../../../../amqp/endpoint.ts';
import {
  type GivenAmqpConnection,
  hostEndpoint,
  isAmqpConnection,
} from '../../../../amqp/host-connection.ts';
import { type AmqpContext, isAmqpUrl, parseAmqpUrls } from '../../../../amqp/urls.ts';
import { requirePackage } from '../../../../server-problems.ts';
import { tlsSetting } from '../../../../tls.ts';
import type { CelerySettings } from '../../settings.ts';

/**
 * The broker.
 *
 * @param broker the option as given
 * @returns `null` if the broker is not RabbitMQ
 * @throws TypeError that says what to write; it never contains a URL
 */
export function amqpEndpoint(broker: unknown, settings: CelerySettings): AmqpEndpoint | null {
  const { broker_url: configured } = settings;
  const urls = typeof configured === 'string' ? configured : configured?.join(';');
  const ofSettings = urls !== undefined && isAmqpUrl(urls) ? urls : null;
  if (isAmqpConnection(broker)) return hostEndpoint(broker, virtualHostOf(ofSettings, settings));
  if (typeof broker === 'string')
    return isAmqpUrl(broker) ? endpointOfUrls(broker, 'broker', settings) : null;
  if (ofSettings === null || (broker !== undefined && broker !== null)) return null;
  return endpointOfUrls(ofSettings, 'settings.broker_url', settings);
}

function endpointOfUrls(urls: string, option: string, settings: CelerySettings): AmqpEndpoint {
  const addresses = parseAmqpUrls(urls, contextOf(option, settings));
  requirePackage('celerySources', 'amqplib');
  return endpointOf(addresses);
}

function contextOf(option: string, settings: CelerySettings): AmqpContext {
  return {
    option,
    ssl: tlsSetting(settings.broker_use_ssl, 'settings.broker_use_ssl'),
    heartbeat: settings.broker_heartbeat ?? null,
    loginMethod: settings.broker_login_method ?? null,
  };
}

/** The connection of a host does not reveal its virtual host. */
function virtualHostOf(urls: string | null, settings: CelerySettings): string | null {
  return urls === null
    ? null
    : parseAmqpUrls(urls, contextOf('settings.broker_url', settings))[0].virtualHost;
}

export type { GivenAmqpConnection };
