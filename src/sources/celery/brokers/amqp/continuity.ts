/**
 * Detects whether anything was lost between two connections, and which messages arrive for the second time.
 *
 * The last message that was received is never acknowledged. After a reconnect, RabbitMQ therefore delivers it again,
 * before everything that came later. If it does not, then messages are missing: RabbitMQ was restarted (it does not
 * save events), the queue overflowed, expired or was emptied. All of these take the oldest message first.
 */
import { createHash } from 'node:crypto';

/** Longer messages are remembered by their hash. */
const LONG_MESSAGE = 4096;

/** The data by which messages are compared. */
type Fingerprint = Buffer;

/** The part of a message that is needed here. */
interface Delivery {
  readonly content: Buffer;
  readonly fields: { readonly redelivered: boolean };
}

/** The queue as it is found after a reconnect. */
export interface FoundQueue {
  /** Messages that wait for a consumer. */
  readonly ready: number;
  /** Consumers that RabbitMQ still counts, of a connection whose end it has not noticed. */
  readonly consumers: number;
}

/** Remembers the messages that RabbitMQ may deliver again. */
export interface Continuity {
  /** To be called for each message. @returns whether it was received before */
  receive(message: Delivery): boolean;
  /**
   * To be called before a queue is consumed again.
   *
   * @param found `null` if it is gone
   * @returns whether messages are known to be missing
   */
  resume(found: FoundQueue | null): boolean;
  /** Gives up waiting for the last message. */
  giveUp(): void;
  /** Whether it is still unknown if messages are missing. */
  isWaiting(): boolean;
}

/**
 * @param most messages that RabbitMQ delivers without acknowledgement: no others are delivered again
 * @param onGap called when messages turn out to be missing
 */
export function createContinuity(most: number, onGap: () => void): Continuity {
  let received: Fingerprint[] = [];
  /** The last message before the connection was lost, until it arrives again. */
  let awaited: Fingerprint | null = null;
  /** Whether messages of the lost connection may still arrive after others. */
  let isUnordered = false;

  function remember(fingerprint: Fingerprint): void {
    received.push(fingerprint);
    // Cut off in batches: each removal moves the whole array.
    if (received.length >= 2 * most) received = received.slice(-most);
  }

  function end(isMissing: boolean): void {
    awaited = null;
    if (isMissing) onGap();
  }

  return {
    receive({ content, fields }) {
      const fingerprint = fingerprintOf(content);
      const isRepeated = fields.redelivered && received.some((known) => known.equals(fingerprint));
      if (!isRepeated) remember(fingerprint);
      if (awaited !== null) {
        if (isRepeated && awaited.equals(fingerprint)) end(false);
        else if (!isRepeated && !isUnordered) end(true);
      }
      return isRepeated;
    },
    resume(found) {
      const last = received.at(-1) ?? null;
      const isEmpty = found !== null && found.ready === 0 && found.consumers === 0;
      // Another message may have arrived before the awaited one: only the awaited one would prove anything.
      const isUnproven = awaited !== null && awaited !== last;
      // Without any message before, nothing shows whether there was one since.
      const isMissing = found === null || last === null || isEmpty || isUnproven;
      awaited = isMissing ? null : last;
      isUnordered = !isMissing && found.consumers > 0;
      if (found === null) received = [];
      return isMissing;
    },
    giveUp() {
      if (awaited !== null) end(true);
    },
    isWaiting: () => awaited !== null,
  };
}

function fingerprintOf(content: Buffer): Fingerprint {
  if (content.length > LONG_MESSAGE) return createHash('sha256').update(content).digest();
  // A copy: the content is a part of all that was read at once, which would be kept with it.
  return Buffer.from(content);
}
