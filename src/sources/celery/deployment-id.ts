/** The identity of a deployment in a store that may keep several. */
import type { Broker } from './broker.ts';
import type { ResultBackend } from './result-backend.ts';
import type { CelerySettings } from './settings.ts';

/** From where a deployment is read. */
interface Read {
  readonly broker: Pick<Broker, 'describe'> | null;
  readonly backend: Pick<ResultBackend, 'describe'> | null;
  readonly settings: CelerySettings;
}

/** Addresses of this machine, which mean the same one. */
const LOCAL = /^(?:127\.0\.0\.1|\[::1\])(?=:|$)/;

/**
 * Host, port and database of the broker, or else of the result backend, without user and password; also the prefix that
 * keeps apps in one database apart.
 *
 * @returns `null` if a client of the host does not reveal its address
 */
export function deploymentId({ broker, backend, settings }: Read): string | null {
  const description = broker?.describe() ?? backend?.describe();
  if (description === undefined || description.url === null) return null;
  const transport =
    broker === null ? settings.result_backend_transport_options : settings.broker_transport_options;
  const parts = [
    addressesOf(description.url),
    description.config.database,
    transport?.master_name,
    transport?.global_keyprefix,
  ];
  return parts.filter((part) => part !== undefined && part !== '').join(' ');
}

/** Sentinels may be named in any order. A scheme says how to connect, but not to what. */
function addressesOf(urls: string): string {
  return urls
    .split(';')
    .map((url) => url.replace(/^[\w+]+:\/\//, '').replace(/\/\d+$/, ''))
    .map((server) => server.replace(LOCAL, 'localhost'))
    .toSorted()
    .join(';');
}
