/**
 * Finds out whether tasks that workers receive had been announced by a `task-sent` event.
 *
 * Only ids in the sample are looked at. It begins with all of them, and halves itself whenever more than
 * {@link MOST_IDS} announced tasks wait, so that memory stays bounded and no id is forgotten that would
 * then look as if it had never been announced.
 */

/** Ids held; a deployment with a longer backlog is judged by a part of its tasks. */
const MOST_IDS = 5000;
/** How late an announcement may come behind the worker's event, in milliseconds. */
const GRACE = 10_000;
/** Received tasks that are judged in each such time, so that few have to be remembered. */
const MOST_JUDGED = 50;
/** In characters; longer ones are not remembered. */
const LONGEST_NAME = 200;
/** Characters at the end of an id that its hash is made of. */
const HASHED = 64;
/** Received tasks after which older ones count half. */
const WINDOW = 200;

/** What has been found out so far. */
export interface SentFacts {
  /** Of tasks received lately: how many had been announced, and how many had not. */
  readonly announced: number;
  readonly unannounced: number;
  /** Names of some that had not. */
  readonly names: readonly string[];
}

/** Follows the ids of tasks. Times in milliseconds. */
export interface SentWatch {
  sent(id: string): void;
  /** @param name as far as it is known */
  received(id: string, name: string | null | undefined, now: number): void;
  /** An event says that a task has ended, which will hardly be received any more. */
  ended(id: string): void;
  /** A result says so. It may overtake the events, which workers send in batches. */
  hasResult(id: string, now: number): void;
  facts(now: number): SentFacts;
  /** Forgets everything: messages may have been missed. */
  clear(): void;
}

/** Makes one that knows nothing yet. */
export function createSentWatch(): SentWatch {
  const waiting = new Set<string>();
  const pending = new Map<string, { at: number; name: string | null }>();
  /** Of those that wait: which have a result since the last turn, and which had one at that time. */
  let fresh = new Set<string>();
  let stale = new Set<string>();
  let turnedAt = Number.NEGATIVE_INFINITY;
  /** Ids are in the sample whose hash has none of these bits; below 0, none is. */
  let mask = 0;
  let roundAt = Number.NEGATIVE_INFINITY;
  let left = 0;
  let announced = 0;
  let unannounced = 0;
  let names: string[] = [];

  function inSample(id: string): boolean {
    return mask === 0 || (mask > 0 && (hashOf(id) & mask) === 0);
  }

  function halve(): void {
    mask = mask * 2 + 1;
    for (const id of waiting) if (!inSample(id)) waiting.delete(id);
    if (waiting.size <= MOST_IDS) return;
    // Somebody has made ids that all hash alike.
    waiting.clear();
    mask = -1;
  }

  function judge(isAnnounced: boolean): void {
    if (isAnnounced) announced += 1;
    else unannounced += 1;
    if (announced + unannounced < WINDOW) return;
    announced /= 2;
    unannounced /= 2;
  }

  function settle(now: number): void {
    for (const [id, { at, name }] of pending) {
      if (now - at < GRACE) return;
      pending.delete(id);
      judge(false);
      if (name !== null && !names.includes(name)) names = [name, ...names].slice(0, 3);
    }
  }

  return {
    sent(id) {
      if (pending.delete(id)) {
        judge(true);
      } else if (inSample(id)) {
        waiting.add(id);
        if (waiting.size > MOST_IDS) halve();
      }
    },
    received(id, name, now) {
      if (!inSample(id)) return;
      const isAnnounced = waiting.delete(id);
      if (now - roundAt >= GRACE) {
        settle(now);
        roundAt = now;
        left = MOST_JUDGED;
      }
      if (left === 0) return;
      left -= 1;
      const isShort = typeof name === 'string' && name.length < LONGEST_NAME;
      if (isAnnounced) judge(true);
      else pending.set(id, { at: now, name: isShort ? name : null });
    },
    ended(id) {
      waiting.delete(id);
    },
    hasResult(id, now) {
      if (!waiting.has(id)) return;
      fresh.add(id);
      if (now - turnedAt < GRACE) return;
      for (const old of stale) waiting.delete(old);
      stale = fresh;
      fresh = new Set();
      turnedAt = now;
    },
    facts(now) {
      settle(now);
      return { announced, unannounced, names };
    },
    clear() {
      waiting.clear();
      pending.clear();
      fresh.clear();
      stale.clear();
      mask = 0;
      announced = 0;
      unannounced = 0;
      names = [];
    },
  };
}

function hashOf(id: string): number {
  let hash = 0;
  for (let at = Math.max(0, id.length - HASHED); at < id.length; at += 1) {
    hash = (Math.imul(hash, 31) + id.charCodeAt(at)) | 0;
  }
  // The lower bits of a product are the weaker ones.
  return hash ^ (hash >>> 15);
}
