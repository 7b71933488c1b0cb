import type { AmqpChannel } from '../../../../amqp/channel.ts';

/** How many messages are acknowledged together at most, and after how many milliseconds at the latest. */
const BATCH = 200;
const DELAY_MS = 250;

/** Acknowledges the messages of one consumer, which are taken in the order of their tags. */
export interface Acknowledgements {
  /** This message and all earlier ones were processed. */
  taken(deliveryTag: number): void;
  /** Has the last message delivered again, so that it does not count as forgotten by its consumer. */
  renew(): void;
  stop(): void;
}

/** The last message of all is never acknowledged, see `continuity.ts`. */
export function createAcknowledgements(channel: AmqpChannel): Acknowledgements {
  let taken = 0;
  let acknowledged = 0;
  let timer: NodeJS.Timeout | null = null;

  function acknowledge(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    const upTo = taken - 1;
    if (upTo <= acknowledged) return;
    acknowledged = upTo;
    channel.send((raw) => raw.ack({ fields: { deliveryTag: upTo } }, true));
  }

  return {
    taken(deliveryTag) {
      taken = deliveryTag;
      if (taken - 1 - acknowledged >= BATCH) acknowledge();
      else if (timer === null && taken - 1 > acknowledged) timer = setTimeout(acknowledge, DELAY_MS).unref();
    },
    renew() {
      acknowledge();
      if (taken <= acknowledged) return;
      acknowledged = taken;
      channel.send((raw) => raw.nack({ fields: { deliveryTag: taken } }, false, true));
    },
    stop() {
      if (timer !== null) clearTimeout(timer);
      timer = null;
    },
  };
}
