/**
 * Finds the master that Sentinels watch (https://redis.io/docs/latest/develop/reference/sentinel-clients/).
 *
 * The Sentinel client of node-redis 6 is not used: it gives up if the first Sentinel of the list is dead, hides
 * why the Sentinels refuse to answer, and does not notice that the master it was given has become a replica.
 */
import { withDeadline } from './deadline.ts';
import {
  type CeleryRedisConnection,
  createOwnClient,
  destroyClient,
  type OpenClient,
  sendCommand,
} from './node-redis.ts';
import { createPacedReads } from './paced-reads.ts';
import { describeError, redisError } from './problems.ts';
import type { SentinelAddress } from './sentinel-urls.ts';

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
    const reads = use === 'commands' ? null : createPacedReads();
    const client = await createOwnClient(master, signal, reads);
    return { client, verify: () => verifyMaster(client), onSubscribed: reads?.start };
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
    const reply = await withDeadline(ask(), signal, ANSWER_TIMEOUT);
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
