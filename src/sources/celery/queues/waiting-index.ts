import type { WaitingMessage } from '../broker.ts';

/** Messages by the tasks that they are about. Of several messages of one task, the first counts. */
export interface WaitingIndex {
  /** Those that can be read, in the order in which they will run; of long queues, the first and the newest. */
  readonly messages: readonly WaitingMessage[];
  get(id: string): WaitingMessage | undefined;
  /** Messages of tasks whose parent, root, group or chord body has this id. */
  related(id: string): readonly WaitingMessage[];
}

/** @param messages in the order in which they will run */
export function indexMessages(messages: readonly WaitingMessage[]): WaitingIndex {
  const byId = new Map<string, WaitingMessage>();
  for (const message of messages) {
    const id = message.facts?.id;
    if (id !== undefined && !byId.has(id)) byId.set(id, message);
  }
  let relatives: Map<string, WaitingMessage[]> | null = null;
  return {
    messages: [...byId.values()],
    get: (id) => byId.get(id),
    related(id) {
      relatives ??= byRelative(byId.values());
      return relatives.get(id) ?? [];
    },
  };
}

function byRelative(messages: Iterable<WaitingMessage>): Map<string, WaitingMessage[]> {
  const index = new Map<string, WaitingMessage[]>();
  for (const message of messages) {
    const { id, parentId, rootId, groupId, chordId } = message.facts ?? {};
    for (const other of new Set([parentId, rootId, groupId, chordId])) {
      if (other == null || other === id) continue;
      const list = index.get(other);
      if (list === undefined) index.set(other, [message]);
      else list.push(message);
    }
  }
  return index;
}

/** When the next waiting task becomes overdue, and until when that is true. */
export function nextEtaOf({ messages }: WaitingIndex, now: number): { until: number; at: Date | null } {
  let next = Number.POSITIVE_INFINITY;
  for (const { facts } of messages) {
    const eta = facts?.eta;
    if (typeof eta === 'number' && eta > now && eta < next) next = eta;
  }
  return { until: next, at: Number.isFinite(next) ? new Date(next) : null };
}
