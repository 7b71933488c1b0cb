/** Messages as they are kept in memory: what is shown of them, and no more. */
import { createHash } from 'node:crypto';
import type { TaskFacts } from '../../../history/history.ts';
import type { TaskRelation } from '../../../model.ts';
import { readAnnounced } from '../protocol/announced.ts';
import type { QueuedTask } from '../protocol/messages.ts';

/** A message in a queue, or one that a worker has taken. */
export interface HeldMessage {
  /** Its delivery tag, or what stands for it. */
  readonly tag: string;
  /** `null` when it cannot be read. */
  readonly facts: TaskFacts | null;
  /** Of one that a worker has taken: its place among those, as Redis writes the number; else `null`. */
  readonly score: string | null;
  /** What it tells of tasks that are still to be sent. */
  readonly relations: readonly TaskRelation[];
  /** Estimate of what it takes in memory. */
  readonly bytes: number;
}

/** Tags are UUIDs; whoever writes longer ones gets a digest of them. */
const MAX_TAG = 64;
/** Of an object with its fields, and of a relation, in bytes. */
const OBJECT = 700;
const RELATION = 150;

/**
 * @param raw the message as Redis has it
 * @param task what it says; `null` when it cannot be read
 */
export function holdMessage(raw: string, task: QueuedTask | null): HeldMessage {
  if (task === null) {
    return { tag: digest(raw), facts: null, score: null, relations: [], bytes: OBJECT };
  }
  const { facts, deliveryTag } = task;
  // Errbacks are left out: most are never sent.
  const announced = readAnnounced(task);
  const relations = [...announced.relations, ...announced.behindChord];
  const isTag = deliveryTag !== '' && deliveryTag.length <= MAX_TAG;
  const texts = (facts.args?.length ?? 0) + (facts.kwargs?.length ?? 0) + facts.id.length;
  return {
    tag: isTag ? deliveryTag : digest(deliveryTag === '' ? raw : deliveryTag),
    facts,
    score: null,
    relations,
    bytes: OBJECT + 2 * texts + RELATION * relations.length,
  };
}

/** Stands for a tag that is missing or too long. */
function digest(text: string): string {
  return `#${createHash('sha1').update(text).digest('base64url')}`;
}
