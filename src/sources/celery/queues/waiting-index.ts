import type { WaitingMessage } from '../broker.ts';

/** Messages by the tasks that they are about. Of several messages of one task, the first counts. */
export interface WaitingIndex {
  /** Those that can be read, in the order in which they will run. */
  readonly messages: readonly WaitingMessage[];
  /** Also finds messages that are not in `messages` because the queue is too long. */
  get(id: string): WaitingMessage | undefined;
  /** Messages of tasks whose parent, root, group or chord body has this id. */
  related(id: string): readonly WaitingMessage[];
}

/**
 * @param messages in the order in which they will run
 * @param newest found by id, but not listed
 */
export function indexMessages(
  messages: readonly WaitingMessage[],
  newest: readonly WaitingMessage[] = [],
): WaitingIndex {
  const byId = new Map<string, WaitingMessage>();
  const add = (message: WaitingMessage): void => {
    const id = message.facts?.id;
    if (id !== undefined && !byId.has(id)) byId.set(id, message);
  };
  for (const message of messages) add(message);
  const listed = [...byId.values()];
  for (const message of newest) add(message);
  let relatives: Map<string, WaitingMessage[]> | null = null;
  return {
    messages: listed,
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
