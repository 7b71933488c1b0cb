/** A list in Redis that workers write their replies to, and the requests that wait for them. */
import { randomUUID } from 'node:crypto';
import type { ReplyListener } from '../../broker.ts';
import { OID_PREFIX } from './leftovers.ts';

/** One reply list. Requests that overlap in time share one. */
export interface ReplyList {
  /** The routing key of replies, and a part of the list's key. */
  readonly oid: string;
  /** Monotonic, in milliseconds. */
  readonly openedAt: number;
  /** The requests that wait for replies, by ticket. */
  readonly listeners: Map<string, ReplyListener>;
  /** Whether the list is being read. */
  isReceiving: boolean;
  /** No request may join any more. */
  isOver: boolean;
  /** Some worker may still answer. */
  isPartial: boolean;
  /** Resolves when the list has been removed. */
  readonly removed: Promise<void>;
  readonly settleRemoved: () => void;
}

/** A list with a unique id, which contains the time at which it was created. */
export function newReplyList(): ReplyList {
  let settleRemoved = (): void => {};
  const removed = new Promise<void>((resolve) => {
    settleRemoved = resolve;
  });
  return {
    oid: `${OID_PREFIX}${Date.now().toString(36)}.${randomUUID()}`,
    openedAt: performance.now(),
    listeners: new Map(),
    isReceiving: false,
    isOver: false,
    isPartial: false,
    removed,
    settleRemoved,
  };
}

/** Reports to all requests that no further reply can arrive. */
export function failListeners({ listeners }: ReplyList, error: unknown): void {
  const waiting = [...listeners.values()];
  listeners.clear();
  for (const listener of waiting) listener.onLost(error);
}
