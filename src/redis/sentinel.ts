/**
 * Finds the master that Sentinels watch (https://redis.io/docs/latest/develop/reference/sentinel-clients/). Their URLs
 * are those of Celery (`SentinelChannel` in kombu/transport/redis.py, celery/backends/redis.py).
 *
 * The Sentinel client of node-redis 6 is not used: it gives up if the first Sentinel of the list is dead, hides
 * why the Sentinels refuse to answer, and does not notice that the master it was given has become a replica.
 */

import { wrongOption } from '../check-options.ts';
import { hostAndPort, splitUrl } from '../server-urls.ts';
import { type TlsParameters, tlsOptions, tlsSetting } from '../tls.ts';
import { isRecord } from '../values.ts';
import {
  type CeleryRedisConnection,
  clientsOf,
  createOwnClient,
  destroyClient,
  type OpenClient,
  sendCommand,
} from './node-redis.ts';
import { describeError, redisError, withDeadline } from './problems.ts';
import { databaseNumber, isSentinelUrl, type RedisAddress } from './urls.ts';

/** For one Sentinel, in milliseconds: several that are dead must fit into one attempt to connect. */
const ANSWER_TIMEOUT = 1_000;

type HostAndPort = SentinelAddress['sentinels'][number];

const LOGIN_CODES = new Set(['NOAUTH', 'WRONGPASS', 'NOPASSWORD', 'NOPERM']);
const ROLE_HIDDEN = new Set(['NOPERM', 'UNKNOWNCOMMAND']);

/** Opens clients of the current master. The Sentinels are asked again for each. */
export function mastersOf(address: SentinelAddress): OpenClient {
  // A Sentinel that does not answer moves to the end, so that the next attempt begins with another.
  const sentinels = [...address.sentinels];
  return async (signal, use) => {
    const socket = await findMaster(address, sentinels, signal);
    const master = { ...address.login, socket, database: address.database };
    const opened = await clientsOf(master)(signal, use);
    return { ...opened, verify: () => verifyMaster(opened.client) };
  };
}

async function findMaster(
  address: SentinelAddress,
  sentinels: HostAndPort[],
  signal: AbortSignal,
): Promise<HostAndPort> {
  let reason: 'NOSENTINEL' | 'NOMASTER' | 'SENTINELLOGIN' = 'NOSENTINEL';
  for (const sentinel of [...sentinels]) {
    try {
      const master = await askSentinel(sentinel, address, signal);
      if (master !== null) return master;
      reason = 'NOMASTER';
    } catch (error) {
      const { code } = describeError(error);
      // No caller waits any more, or another Sentinel cannot help.
      if (signal.aborted || code === 'NOPACKAGE') throw error;
      if (LOGIN_CODES.has(code) && reason === 'NOSENTINEL') reason = 'SENTINELLOGIN';
    }
    sentinels.push(...sentinels.splice(sentinels.indexOf(sentinel), 1));
  }
  throw redisError(reason);
}

/** The master's address; `null` if this Sentinel knows no master of that name. */
async function askSentinel(
  socket: HostAndPort,
  { sentinelLogin, masterName }: SentinelAddress,
  signal: AbortSignal,
): Promise<HostAndPort | null> {
  const attempt = new AbortController();
  const client = await createOwnClient({ ...sentinelLogin, socket, database: 0 }, attempt.signal);
  client.on('error', () => {});
  client.unref?.();
  async function ask(): Promise<unknown> {
    await client.connect();
    return sendCommand(client, ['SENTINEL', 'get-master-addr-by-name', masterName]);
  }
  try {
    const reply = await withDeadline(ask(), { signal, ms: ANSWER_TIMEOUT });
    if (!Array.isArray(reply)) return null;
    return { host: String(reply[0]), port: Number(reply[1]) };
  } finally {
    destroyClient(client);
    // A client that is still connecting has no socket yet that `destroy` could end.
    attempt.abort();
  }
}

/** A demoted master is informed late; commands and publications until then are lost. */
async function verifyMaster(client: CeleryRedisConnection): Promise<void> {
  let role: unknown;
  try {
    role = await sendCommand(client, ['ROLE']);
  } catch (error) {
    // A user without the right to send the command must still see data.
    if (ROLE_HIDDEN.has(describeError(error).code)) return;
    throw error;
  }
  if (Array.isArray(role) && role[0] !== 'master') throw redisError('NOTMASTER');
}

/** Addresses of Sentinels, with the logins for them and for the master. */
interface SentinelAddress {
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
