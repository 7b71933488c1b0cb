/** Messages as they are kept in memory: only the data that is shown. */
import { createHash } from 'node:crypto';
import { turnNow } from '../../../turn-clock.ts';
import type { MessagePosition, WaitingMessage } from '../broker.ts';
import { readAnnounced } from '../protocol/announced.ts';
import type { QueuedTask } from '../protocol/messages.ts';

/** Tags are UUIDs. Longer ones are replaced by a digest. */
const MAX_TAG = 64;
/** Characters at each end of a message that its digest covers. */
const DIGESTED = 64 * 1024;
/** Memory of an object with its fields, and of a relation, in bytes. */
const OBJECT = 700;
const RELATION = 150;

/** @param task the decoded message; `null` if it is not readable */
export function waitingMessage(task: QueuedTask | null, position: MessagePosition): WaitingMessage {
  const seenAt = turnNow();
  if (task === null) return { ...position, facts: null, seenAt, relations: [], bytes: OBJECT };
  const { facts } = task;
  // Errbacks are left out: most are never sent.
  const announced = readAnnounced(task);
  const relations = [...announced.relations, ...announced.behindChord];
  const texts = (facts.args?.length ?? 0) + (facts.kwargs?.length ?? 0) + facts.id.length;
  return { ...position, facts, seenAt, relations, bytes: OBJECT + 2 * texts + RELATION * relations.length };
}

/** Tells a message apart: its delivery tag, or a digest where that is missing or too long. */
export function tagOf(raw: string, task: QueuedTask | null): string {
  const tag = task?.deliveryTag ?? '';
  if (tag !== '' && tag.length <= MAX_TAG) return tag;
  const text = tag === '' ? raw : tag;
  // The ends tell long messages apart.
  const ends = `${text.length} ${text.slice(0, DIGESTED)} ${text.slice(-DIGESTED)}`;
  return `#${createHash('sha1').update(ends).digest('base64url')}`;
}
