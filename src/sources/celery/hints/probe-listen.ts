import type { OpenClient } from '../../../redis/node-redis.ts';
import { describeError } from '../../../redis/problems.ts';
import { startSession } from '../../../redis/session.ts';

/** Different channels remembered. */
const MOST_CHANNELS = 20;

/** What was heard. */
export interface Heard {
  /** Names of channels, each once. */
  readonly channels: readonly string[];
  /** Redis answered NOPERM to one of the patterns. */
  readonly isForbidden: boolean;
}

/**
 * Listens to patterns for a while, over a connection of its own. Only the names of channels are looked
 * at. Never rejects; a Redis that goes away ends it early.
 *
 * @param nameOf what to remember of a channel; `null`: nothing
 * @param ms how long
 */
export async function listenTo(
  open: OpenClient,
  patterns: readonly string[],
  nameOf: (channel: string) => string | null,
  ms: number,
  signal: AbortSignal,
): Promise<Heard> {
  const channels = new Set<string>();
  let isForbidden = false;
  const session = startSession({
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
          // One by one: Redis refuses several at once for the sake of one.
          await client.pSubscribe([pattern], listener);
          accepted += 1;
        } catch (error) {
          if (describeError(error).code !== 'NOPERM') throw error;
          isForbidden = true;
        }
      }
      if (accepted === 0) throw new Error('There is nothing to listen to.');
    },
    onReady() {},
    onAlive() {},
  });
  const end = (): void => session.close();
  const timer = setTimeout(end, ms).unref();
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  await session.over.catch(() => {});
  clearTimeout(timer);
  signal.removeEventListener('abort', end);
  return { channels: [...channels], isForbidden };
}
