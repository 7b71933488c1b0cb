/** URLs of Redis behind Sentinels (`SentinelChannel` in kombu/transport/redis.py, celery/backends/redis.py). */

import { type TlsParameters, tlsOptions, tlsSetting } from './tls.ts';
import type { RedisAddress } from './urls.ts';
import { databaseNumber, hostAndPort, isSentinelUrl, splitUrl } from './urls.ts';

/** Addresses of Sentinels, and how to log in to them and to the master. */
export interface SentinelAddress {
  /** Host and port of each. */
  readonly sentinels: readonly { readonly host: string; readonly port: number }[];
  readonly masterName: string;
  /** Login for the Sentinels themselves. */
  readonly sentinelLogin: Login;
  /** Login for the master. */
  readonly login: Login;
  readonly database: number;
}

type Login = Pick<RedisAddress, 'username' | 'password' | 'tls'>;

/** The settings that belong to a Sentinel URL. */
export interface SentinelContext {
  /** The option that held the URL, for the error. */
  readonly option: string;
  /** Name and value of the setting with `master_name` and `sentinel_kwargs`. */
  readonly transport: { readonly option: string; readonly values: Readonly<Record<string, unknown>> };
  /** The setting for TLS to the master. */
  readonly ssl: TlsParameters | null;
}

const EXAMPLE = 'sentinel://host:26379/0;sentinel://host2:26379/0';

/**
 * Reads `sentinel://host:26379/0;sentinel://host2:26379/0`. User, password and database number are
 * those of the master; the first URL that has one counts.
 *
 * @throws TypeError that says what to write; it never holds the URL, which may have a password
 */
export function parseSentinelUrl(url: string, { option, transport, ssl }: SentinelContext): SentinelAddress {
  const urls = url.split(';').map((part) => part.trim());
  if (!urls.every(isSentinelUrl)) {
    throw new TypeError(`celerySources: ${option} must be Sentinel URLs alone, as ${EXAMPLE}.`);
  }
  const parts = urls.map((part) => splitUrl(part, option, EXAMPLE));
  const path = parts.map((part) => part.path).find((text) => text.length > 1) ?? '';
  return {
    sentinels: parts.map(({ host, port }) => ({ host, port: port ?? 26379 })),
    masterName: masterName(transport),
    sentinelLogin: sentinelLogin(transport),
    login: {
      username: parts.find((part) => part.username !== null)?.username ?? null,
      password: parts.find((part) => part.password !== null)?.password ?? null,
      tls: ssl === null ? null : tlsOptions([ssl]),
    },
    database: databaseNumber(path, option, EXAMPLE),
  };
}

/** The URLs of the Sentinels without user and password. */
export function displaySentinelUrl({ sentinels, database }: SentinelAddress): string {
  return sentinels.map((sentinel) => `sentinel://${hostAndPort(sentinel)}/${database}`).join(';');
}

function masterName({ option, values }: SentinelContext['transport']): string {
  const { master_name: name } = values;
  if (typeof name === 'string' && name !== '') return name;
  const [group] = option.split('.').slice(-1);
  throw new TypeError(
    `celerySources: a Sentinel URL needs the name of the master. Write settings: { ${group}: ` +
      "{ master_name: 'mymaster' } }, as in Celery's own configuration.",
  );
}

/** Arguments of redis-py for connections to the Sentinels; others are ignored. */
function sentinelLogin({ option, values }: SentinelContext['transport']): Login {
  const { sentinel_kwargs: kwargs } = values;
  if (kwargs === undefined || kwargs === null) return { username: null, password: null, tls: null };
  const where = `${option}.sentinel_kwargs`;
  if (typeof kwargs !== 'object' || Array.isArray(kwargs)) {
    throw new TypeError(`celerySources: ${where} must be an object, such as { password: '…' }.`);
  }
  const table = kwargs as Readonly<Record<string, unknown>>;
  const ssl = table.ssl === true ? tlsSetting({ ...table }, where) : null;
  return {
    username: text(table, 'username', where),
    password: text(table, 'password', where),
    tls: ssl === null ? null : tlsOptions([ssl]),
  };
}

function text(table: Readonly<Record<string, unknown>>, name: string, where: string): string | null {
  const value = table[name] ?? null;
  if (value === null || typeof value === 'string') return value;
  throw new TypeError(`celerySources: ${where}.${name} must be a string.`);
}
