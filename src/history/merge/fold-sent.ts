import { KIND, type TimelinePool } from '../table/timeline.ts';

/** What a client or a queue tells of a task's messages. One object, used again. */
export interface Sent {
  /** Of the last one, milliseconds; NaN when nobody told when. */
  time: number;
  /** Of the furthest attempt; −1 when not told. */
  retries: number;
  /** That one was only found in its queue. */
  isVague: boolean;
}

/** @returns a function that looks at the first `count` entries of a task */
export function createSentFold(pool: TimelinePool): (entries: Int32Array, count: number) => Sent {
  const sent: Sent = { time: Number.NaN, retries: -1, isVague: false };

  return (entries, count) => {
    sent.time = Number.NaN;
    sent.retries = -1;
    sent.isVague = false;
    for (let at = 0; at < count; at++) {
      const entry = entries[at] as number;
      if (pool.kind(entry) !== KIND.SENT) continue;
      const retries = pool.retries(entry);
      const isVague = pool.isVague(entry);
      if (retries > sent.retries) {
        sent.retries = retries;
        sent.isVague = isVague;
      } else if (retries === sent.retries && !isVague) sent.isVague = false;
      if (!isVague && !(pool.time(entry) <= sent.time)) sent.time = pool.time(entry);
    }
    sent.time = Math.floor(sent.time);
    return sent;
  };
}
