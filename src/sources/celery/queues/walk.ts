/** Walks over waiting messages, next to run first: those that workers have taken, then list after list. */
import type { HeldMessage } from './held-message.ts';
import type { Place } from './place.ts';
import type { ListPlace } from './queue-list.ts';
import type { QueuePoll } from './queue-poll.ts';

/** A message and the place behind it. */
export interface WalkedMessage {
  readonly message: HeldMessage;
  readonly place: Place;
}

/** Some messages, and how many were looked at to find them. */
export interface WalkedPart {
  readonly messages: readonly WalkedMessage[];
  readonly looked: number;
  /** Behind all that was looked at. */
  readonly place: Place;
}

/** Whether a worker took the first before the second, as the sorted set has them. */
export function isTakenBefore(score: string, tag: string, other: Place & { phase: 'taken' }): boolean {
  const [a, b] = [numberOf(score), numberOf(other.score)];
  return a === b ? tag <= other.tag : a < b;
}

function numberOf(score: string): number {
  if (score.endsWith('inf'))
    return score.startsWith('-') ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  return Number(score);
}

/** The lists from a place on; the place itself lies in the first of them, or before it. */
export function listsFrom<List extends ListPlace>(lists: readonly List[], from: Place): readonly List[] {
  if (from.phase === 'taken') return lists;
  return lists.filter(({ queue, step }) => queue > from.queue || (queue === from.queue && step >= from.step));
}

/** The place within this list; at its right end when the other place lies before it. */
export function placeIn({ queue, step }: ListPlace, from: Place): Place & { phase: 'list' } {
  const isHere = from.phase === 'list' && from.queue === queue && from.step === step;
  return isHere ? from : { phase: 'list', queue, step, index: 0, tag: '' };
}

/** Walks over the copies. */
export function* walkCopies(poll: QueuePoll, from: Place): Generator<WalkedMessage> {
  if (from.phase === 'taken') {
    for (const message of poll.taken()) {
      const score = message.score ?? '-inf';
      if (isTakenBefore(score, message.tag, from)) continue;
      yield { message, place: { phase: 'taken', score, tag: message.tag } };
    }
  }
  for (const list of listsFrom(poll.lists(), from)) {
    const { queue, step } = list;
    const entries = list.mirror().entries();
    const { tag } = placeIn(list, from);
    const at = tag === '' ? -1 : entries.findIndex((entry) => entry.tag === tag);
    // Without the message, all that lay to the right of it has gone, too.
    for (let left = (at < 0 ? entries.length : at) - 1; left >= 0; left -= 1) {
      const message = entries[left] as HeldMessage;
      const index = entries.length - 1 - left;
      yield { message, place: { phase: 'list', queue, step, index, tag: message.tag } };
    }
  }
}
