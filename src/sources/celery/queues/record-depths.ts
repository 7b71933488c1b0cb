/** Records over time how many messages wait in each queue, and since when the oldest due one has waited. */
import type { QueueCounts } from '../broker.ts';
import type { IntakeHistory } from './message-intake.ts';
import type { WaitingIndex } from './waiting-index.ts';

interface ReadQueues {
  readonly history: IntakeHistory;
  readonly index: WaitingIndex;
  /** When they were read, milliseconds since 1970. */
  readonly begunAt: number;
}

/** Messages carry no time of sending: unless a client reported it, they wait at least since they were first read. */
export function recordDepths({ history, index, begunAt }: ReadQueues, queues: readonly QueueCounts[]): void {
  const busy = new Set(queues.flatMap(({ name, waiting }) => (waiting ? [name] : [])));
  const since = new Map<string, { readonly at: number; readonly isAtLeast: boolean }>();
  for (const { facts, takenAt, seenAt } of index.messages) {
    if (since.size >= busy.size) break;
    const queue = facts?.queue ?? null;
    if (facts === null || queue === null || takenAt !== null || since.has(queue)) continue;
    if (!busy.has(queue) || (typeof facts.eta === 'number' && facts.eta > begunAt)) continue;
    const sentAt = history.index.sentAt(facts.id);
    since.set(queue, { at: sentAt ?? seenAt, isAtLeast: sentAt === null });
  }
  for (const { name, waiting } of queues) {
    const { at = null, isAtLeast = false } = since.get(name) ?? {};
    if (waiting !== null) history.writer.recordQueue(name, waiting, at, isAtLeast);
  }
}
