import { createConnection } from './connection.ts';
import type { RedisEndpoint } from './endpoint.ts';
import { describeError } from './problems.ts';

/** Most channels that are reported. */
const MOST_CHANNELS = 20;

/** Channels on which something was published. */
export interface HeardChannels {
  /** Each once. */
  readonly channels: readonly string[];
  /** Redis answered NOPERM to one of the patterns. */
  readonly isForbidden: boolean;
}

/**
 * Listens to patterns for a limited time, over a connection of its own, and reports the channels with messages.
 * Never rejects; ends early when Redis becomes unreachable.
 *
 * @param nameOf the name to report for a channel; `null`: none
 * @param ms how long to listen, in milliseconds
 */
export async function hearChannels(
  { open }: RedisEndpoint,
  patterns: readonly string[],
  nameOf: (channel: string) => string | null,
  ms: number,
  signal: AbortSignal,
): Promise<HeardChannels> {
  const channels = new Set<string>();
  let isForbidden = false;
  let timer: NodeJS.Timeout | undefined;
  let end: () => void = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const connection = createConnection({
    label: 'diagnosis',
    open,
    async prepare(client, heard) {
      const listener = (_message: string, channel: string): void => {
        heard();
        const name = channels.size < MOST_CHANNELS ? nameOf(channel) : null;
        if (name !== null) channels.add(name);
      };
      let accepted = 0;
      for (const pattern of patterns) {
        try {
          // One by one: Redis refuses all patterns of a command when one of them is forbidden.
          await client.pSubscribe([pattern], listener);
          accepted += 1;
        } catch (error) {
          if (describeError(error).code !== 'NOPERM') throw error;
          isForbidden = true;
        }
      }
      if (accepted === 0) throw new Error('There is nothing to listen to.');
    },
    // Counted from the subscription: a slow connection must not shorten it.
    onUp() {
      timer = setTimeout(end, ms).unref();
    },
    onDown: end,
  });
  connection.opened().catch(end);
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  await ended;
  clearTimeout(timer);
  signal.removeEventListener('abort', end);
  await connection.close();
  return { channels: [...channels], isForbidden };
}
