/** Passes each message on to history and lineage, once. */

import type { HistoryIndex, HistoryWriter, TaskFacts } from '../../../history/history.ts';
import { turnNow } from '../../../scheduler.ts';
import type { MessagePosition, TakeMessage, WaitingMessage } from '../broker.ts';
import type { Lineage } from '../lineage/lineage.ts';
import { readAnnounced } from '../protocol/announced.ts';
import type { QueuedTask } from '../protocol/messages.ts';

/** Most tags to remember: more than there are messages, so that nothing is recorded twice. */
const MAX_SEEN = 20_000;
/** Maximum number of facts of tasks that the history does not know yet, and how long they outlive their message. */
const MAX_UNRECORDED = 20_000;
const MAX_UNRECORDED_BYTES = 16 * 1024 * 1024;
const UNRECORDED_FOR_MS = 30_000;
/** Memory of an object with its fields, and of a relation, in bytes. */
const OBJECT = 700;
const RELATION = 150;

/** How many messages were seen, and how many of them could not be read. */
export interface MessageCounts {
  readonly messages: number;
  readonly unreadable: number;
}

/** Processes messages. */
export interface MessageIntake {
  readonly take: TakeMessage;
  /**
   * Offers facts again that the history did not accept: the events of a task may arrive after its message was
   * read, and even after the message has left the queue.
   *
   * @param isHeld whether a message of that task is still there
   */
  offerAgain(isHeld: (id: string) => boolean, now: number): void;
  counts(): MessageCounts;
}

/** The part of a history that the intake uses. */
export interface IntakeHistory {
  readonly writer: Pick<HistoryWriter, 'recordFacts' | 'recordDropped' | 'recordQueue'>;
  readonly index: Pick<HistoryIndex, 'stateOf' | 'sentAt'>;
}

interface Unrecorded {
  readonly facts: TaskFacts;
  readonly bytes: number;
  goneAt: number | null;
}

interface IntakeState {
  readonly history: IntakeHistory;
  readonly lineage: Pick<Lineage, 'queued'>;
  /** Tags of messages, in the order in which they were read first. */
  readonly seen: Set<string>;
  /** By task id. */
  readonly unrecorded: Map<string, Unrecorded>;
  unrecordedBytes: number;
  messages: number;
  unreadable: number;
}

export function createMessageIntake(history: IntakeHistory, lineage: Pick<Lineage, 'queued'>): MessageIntake {
  const state: IntakeState = {
    history,
    lineage,
    seen: new Set(),
    unrecorded: new Map(),
    unrecordedBytes: 0,
    messages: 0,
    unreadable: 0,
  };
  return {
    take: (task, position) => take(state, task, position),
    offerAgain: (isHeld, now) => offerAgain(state, isHeld, now),
    counts: () => ({ messages: state.messages, unreadable: state.unreadable }),
  };
}

function take(state: IntakeState, task: QueuedTask | null, position: MessagePosition): WaitingMessage {
  const message = waitingMessage(task, position);
  if (!isNew(state, position.tag)) return message;
  state.messages += 1;
  if (task === null) {
    state.unreadable += 1;
    state.history.writer.recordDropped(1);
    return message;
  }
  forget(state, task.facts.id);
  if (!record(state, task.facts)) remember(state, task.facts, message.bytes);
  state.lineage.queued(task);
  return message;
}

function isNew({ seen }: IntakeState, tag: string): boolean {
  if (seen.has(tag)) return false;
  if (seen.size >= MAX_SEEN) seen.delete(seen.values().next().value as string);
  seen.add(tag);
  return true;
}

/** @returns whether the history knows the task */
function record({ history }: IntakeState, facts: TaskFacts): boolean {
  if (history.index.stateOf(facts.id) === null) return false;
  history.writer.recordFacts(facts);
  return true;
}

function remember(state: IntakeState, facts: TaskFacts, bytes: number): void {
  const { unrecorded } = state;
  unrecorded.set(facts.id, { facts, bytes, goneAt: null });
  state.unrecordedBytes += bytes;
  while (unrecorded.size > MAX_UNRECORDED || state.unrecordedBytes > MAX_UNRECORDED_BYTES) {
    forget(state, unrecorded.keys().next().value as string);
  }
}

function forget(state: IntakeState, id: string): void {
  state.unrecordedBytes -= state.unrecorded.get(id)?.bytes ?? 0;
  state.unrecorded.delete(id);
}

function offerAgain(state: IntakeState, isHeld: (id: string) => boolean, now: number): void {
  for (const [id, waiting] of state.unrecorded) {
    if (record(state, waiting.facts)) forget(state, id);
    else if (isHeld(id)) waiting.goneAt = null;
    else {
      waiting.goneAt ??= now;
      if (now - waiting.goneAt > UNRECORDED_FOR_MS) forget(state, id);
    }
  }
}

/** Keeps only the data that is shown. @param task the decoded message; `null` if it is not readable */
function waitingMessage(task: QueuedTask | null, position: MessagePosition): WaitingMessage {
  const seenAt = turnNow();
  if (task === null) return { ...position, facts: null, seenAt, relations: [], bytes: OBJECT };
  const { facts } = task;
  // Errbacks are left out: most are never sent.
  const announced = readAnnounced(task);
  const relations = [...announced.relations, ...announced.behindChord];
  const texts = (facts.args?.length ?? 0) + (facts.kwargs?.length ?? 0) + facts.id.length;
  return { ...position, facts, seenAt, relations, bytes: OBJECT + 2 * texts + RELATION * relations.length };
}
