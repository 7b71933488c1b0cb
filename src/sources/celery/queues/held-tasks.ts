/** All messages that are held, in the order in which they run, and found by id. */
import type { HeldMessage } from './held-message.ts';

/** A task of several messages is that of the first one. */
export interface HeldTasks {
  /** Those that can be read, next to run first. */
  readonly messages: readonly HeldMessage[];
  get(id: string): HeldMessage | undefined;
  /** Tasks of which this id is the parent, the root, the group or the chord's body. */
  related(id: string): readonly HeldMessage[];
}

export const NO_TASKS: HeldTasks = holdTasks([]);

/** @param all in the order in which they run; of those that cannot be read nothing is shown */
export function holdTasks(all: Iterable<HeldMessage>): HeldTasks {
  const byId = new Map<string, HeldMessage>();
  for (const message of all) {
    const id = message.facts?.id;
    if (id !== undefined && !byId.has(id)) byId.set(id, message);
  }
  let relatives: Map<string, HeldMessage[]> | null = null;

  function indexRelatives(): Map<string, HeldMessage[]> {
    const index = new Map<string, HeldMessage[]>();
    for (const message of byId.values()) {
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

  return {
    messages: [...byId.values()],
    get: (id) => byId.get(id),
    related(id) {
      relatives ??= indexRelatives();
      return relatives.get(id) ?? [];
    },
  };
}
