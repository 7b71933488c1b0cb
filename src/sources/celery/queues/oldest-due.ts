/**
 * Since when the message of a queue that has been due for longest has waited. Messages carry no time of sending: a
 * message waits since its client reported it, and otherwise at least since it was first read.
 */
import type { TaskGroup } from '../../../source.ts';
import type { WaitingMessage } from '../broker.ts';

/** Messages of each queue and priority of which the client's report is looked up: those that run next. */
const MOST_LOOKED_UP = 20;
const MOST_EXAMPLES = 3;

/** The messages that wait in one queue. */
export type WaitingGroup = TaskGroup & { readonly queue: string };

/**
 * @param messages in the order in which they will run
 * @param sentAt when the client reported to have sent a task, milliseconds since 1970; `null`: it did not
 * @param now milliseconds since 1970
 */
export function waitingGroups(
  messages: Iterable<WaitingMessage>,
  sentAt: (id: string) => number | null,
  now: number,
): WaitingGroup[] {
  const groups = new Map<string, WaitingGroup>();
  let part = '';
  let looked = 0;
  for (const { part: own, takenAt, facts, seenAt } of messages) {
    if (takenAt !== null || facts === null) continue;
    looked = own === part ? looked + 1 : 0;
    part = own;
    const sent = looked < MOST_LOOKED_UP ? sentAt(facts.id) : null;
    const due = Math.max(Math.min(seenAt, sent ?? seenAt), facts.eta ?? 0);
    if (due > now) continue;
    const queue = own.split('\0', 1)[0] as string;
    groups.set(queue, added(groups.get(queue), queue, facts.id, due));
  }
  return [...groups.values()];
}

function added(group: WaitingGroup | undefined, queue: string, id: string, due: number): WaitingGroup {
  if (group === undefined) return { queue, count: 1, since: due, states: ['PENDING'], examples: [id] };
  const { count, since, examples } = group;
  return {
    ...group,
    count: count + 1,
    since: Math.min(since ?? due, due),
    examples: examples.length < MOST_EXAMPLES ? [...examples, id] : examples,
  };
}
