/** URLs of Redis behind Sentinels (`SentinelChannel` in kombu/transport/redis.py, celery/backends/redis.py). */
import { wrongOption } from '../check-options.ts';
import { hostAndPort, splitUrl } from '../server-urls.ts';
import { type TlsParameters, tlsOptions, tlsSetting } from '../tls.ts';
import { isRecord } from '../values.ts';
import { databaseNumber, isSentinelUrl, type RedisAddress } from './urls.ts';

/** Addresses of Sentinels, with the logins for them and for the master. */
export interface SentinelAddress {
  readonly sentinels: readonly { readonly host: string; readonly port: number }[];
  readonly masterName: string;
  /** Login for the Sentinels themselves. */
  readonly sentinelLogin: Login;
  /** Login for the master. */
  readonly login: Login;
  readonly database: number;
}

type Login = Pick<RedisAddress, 'username' | 'password' | 'tls'>;

/** The settings that complete a Sentinel URL. */
export interface SentinelContext {
  /** The option that the URL was given in, for error messages. */
  readonly option: string;
  /** The setting that has `master_name` and `sentinel_kwargs`: its name and value. */
  readonly transport: { readonly option: string; readonly values: Readonly<Record<string, unknown>> };
  /** TLS to the master; `null`: none. */
  readonly ssl: TlsParameters | null;
}

const EXAMPLE = 'sentinel://host:26379/0;sentinel://host2:26379/0';

/**
 * Parses `sentinel://host:26379/0;sentinel://host2:26379/0`. User, password and database number are for the
 * master; each is taken from the first URL that has it.
 *
 * @throws TypeError that says what to write; it never contains the URL, which may have a password
 */
export function parseSentinelUrl(url: string, { option, transport, ssl }: SentinelContext): SentinelAddress {
  const urls = url.split(';').map((part) => part.trim());
  if (!urls.every(isSentinelUrl)) {
    throw new TypeError(`celerySources: '${option}' must have Sentinel URLs only, as in ${EXAMPLE}.`);
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

/** Formats the URLs of the Sentinels, without user and password. */
export function displaySentinelUrl({ sentinels, database }: SentinelAddress): string {
  return sentinels.map((sentinel) => `sentinel://${hostAndPort(sentinel)}/${database}`).join(';');
}

function masterName({ option, values }: SentinelContext['transport']): string {
  const { master_name: name } = values;
  if (typeof name === 'string' && name !== '') return name;
  const [group] = option.split('.').slice(-1);
  throw new TypeError(
    `celerySources: '${option}.master_name' is missing, which a Sentinel URL needs. Write settings: { ${group}: ` +
      "{ master_name: 'mymaster' } }, as in Celery's own configuration.",
  );
}

/** redis-py's arguments of connections to Sentinels; others are ignored. */
function sentinelLogin({ option, values }: SentinelContext['transport']): Login {
  const { sentinel_kwargs: kwargs } = values;
  if (kwargs === undefined || kwargs === null) return { username: null, password: null, tls: null };
  const where = `${option}.sentinel_kwargs`;
  if (!isRecord(kwargs)) {
    throw wrongOption('celerySources', where, "an object such as { password: '…' }", kwargs);
  }
  const ssl = kwargs.ssl === true ? tlsSetting({ ...kwargs }, where) : null;
  return {
    username: text(kwargs, 'username', where),
    password: text(kwargs, 'password', where),
    tls: ssl === null ? null : tlsOptions([ssl]),
  };
}

function text(table: Readonly<Record<string, unknown>>, name: string, where: string): string | null {
  const value = table[name] ?? null;
  if (value === null || typeof value === 'string') return value;
  throw wrongOption('celerySources', `${where}.${name}`, 'a string', value);
}
