/** The queues of a deployment and their waiting messages, read about once a second. */

import type { CollectedHistory, TaskFacts } from '../../../history/history.ts';
import type { Redactor } from '../../../redact.ts';
import { turnNow } from '../../../scheduler.ts';
import { waitFor } from '../../../waiting.ts';
import type { MessagePosition, QueueCounts, QueueReader, QueueReading, WaitingMessage } from '../broker.ts';
import type { Lineage } from '../lineage/lineage.ts';
import { readAnnounced } from '../protocol/announced.ts';
import type { QueuedTask } from '../protocol/messages.ts';
import { createWaitingRows, indexMessages, nextEtaOf, type WaitingIndex } from './waiting-messages.ts';

/** Milliseconds between two readings while there is activity or demand, and otherwise. */
const INTERVAL_MS = 1000;
const IDLE_INTERVAL_MS = 5000;
/** Readings without a change, and time without a request, after which nothing happens. */
const IDLE_READINGS = 5;
const IDLE_AFTER_MS = 10_000;
/** A thousand queues are read in no less than this many milliseconds each. */
const PER_QUEUE_MS = 4;
/** Most names of queues to remember that clients reported. */
const MAX_ANNOUNCED = 1000;
/** How long a request waits for the first reading, in milliseconds. */
const FIRST_READING_MS = 1000;

/** Is told what was read. */
export interface QueueWatch extends Pick<Lineage, 'queued'> {
  /** The depths of all queues that a reading has found. */
  read(depths: readonly QueueCounts[]): void;
}

/** The waiting messages. */
export type Queues = ReturnType<typeof createQueues>;

interface QueuesState {
  readonly reader: QueueReader;
  readonly history: CollectedHistory;
  readonly watch: QueueWatch;
  readonly intake: ReturnType<typeof createMessageIntake>;
  /** Names of queues that workers consume. */
  readonly known: () => readonly string[];
  /** Names of queues that clients reported, where queues cannot be found otherwise. */
  readonly announced: Set<string>;
  reading: QueueReading | null;
  /** When the last reading that succeeded began, milliseconds since 1970. */
  readAt: number | null;
  index: WaitingIndex;
  etas: { readonly revision: number; readonly until: number; readonly at: Date | null } | null;
  timer: NodeJS.Timeout | undefined;
  isRunning: boolean;
  isReading: boolean;
  /** Readings in a row that changed nothing. */
  quietReadings: number;
  askedAt: number;
  begunAt: number;
  readonly first: Promise<void>;
  readonly settleFirst: () => void;
}

/**
 * Reads nothing until it is started.
 *
 * @param redactor removes secrets from texts before they are shown or searched; `null`: they stay as they are
 */
export function createQueues(
  given: Pick<QueuesState, 'reader' | 'history' | 'watch' | 'known'>,
  redactor: Redactor | null,
) {
  const { reader, history, watch } = given;
  const intake = createMessageIntake(history, watch);
  const state = newState({ ...given, intake });
  return {
    /** Whether messages can be listed; see {@link QueueReader.listsMessages}. */
    listsMessages: reader.listsMessages,
    /** Begins to read. */
    start() {
      if (state.isRunning) return;
      state.isRunning = true;
      schedule(state, 0);
    },
    /** Stops reading. */
    stop() {
      state.isRunning = false;
      clearTimeout(state.timer);
      state.settleFirst();
    },
    /** How many messages wait, by queue. Empty before the first reading. */
    depths: () => state.reading?.queues ?? [],
    /** Whether the last reading succeeded; true before the first. */
    ok: () => state.reading?.ok ?? true,
    /** When the queues were last read; `null` before that. */
    asOf: () => (state.readAt === null ? null : new Date(state.readAt)),
    /** How many messages could not be read. */
    unreadable: intake.unreadable,
    /** Why the last reading failed, or what was refused; `null` when all is well. */
    problem: () => state.reading?.problem ?? null,
    /** Whether a message of this task is in a queue or unacknowledged; `null` if unknown. */
    holds: (id: string) => holds(state, id),
    /** Whether the last reading has found a message of this task that no worker had taken. */
    waits: (id: string) => state.reading?.ok === true && state.index.get(id)?.takenAt === null,
    /** Changes whenever something that is shown has changed. */
    revision: () => state.reading?.revision ?? 0,
    /** When the next waiting task becomes overdue; `null` when none will. */
    nextEta: () => nextEta(state),
    /** To be called when queues are requested. */
    asked() {
      const wasIdle = isIdle(state);
      state.askedAt = Date.now();
      if (wasIdle && state.isRunning && !state.isReading) {
        schedule(state, state.begunAt + intervalOf(state) - state.askedAt);
      }
    },
    /** To be called when a client reports that it has sent a task to this queue. */
    announced(queue: string) {
      if (!reader.listsMessages && state.announced.size < MAX_ANNOUNCED) state.announced.add(queue);
    },
    /** Resolves once the first reading has ended, or a second later. */
    ready: () => ready(state),
    /** The waiting messages if they are all known; `null` when they are too many, or before the first reading. */
    held: () => (state.reading?.isComplete === true ? state.index : null),
    /** The waiting messages that are known. */
    index: () => state.index,
    rows: createWaitingRows(redactor),
  };
}

function newState(
  given: Pick<QueuesState, 'reader' | 'history' | 'watch' | 'intake' | 'known'>,
): QueuesState {
  let settleFirst = (): void => {};
  const first = new Promise<void>((resolve) => {
    settleFirst = resolve;
  });
  return {
    ...given,
    announced: new Set(),
    reading: null,
    readAt: null,
    index: indexMessages([]),
    etas: null,
    timer: undefined,
    isRunning: false,
    isReading: false,
    quietReadings: 0,
    askedAt: Date.now(),
    begunAt: Number.NEGATIVE_INFINITY,
    first,
    settleFirst,
  };
}

function schedule(state: QueuesState, delayMs: number): void {
  clearTimeout(state.timer);
  state.timer = setTimeout(() => void readOnce(state), Math.max(0, delayMs)).unref();
}

async function readOnce(state: QueuesState): Promise<void> {
  const { reader, intake, known, announced } = state;
  state.isReading = true;
  state.begunAt = Date.now();
  const before = state.reading;
  const reading = await reader.read([...known(), ...announced], intake.take, state.begunAt);
  const isChanged = before?.revision !== reading.revision;
  if (isChanged) state.index = indexMessages(reading.messages);
  state.reading = reading;
  state.watch.read(reading.queues);
  if (reading.ok) {
    state.readAt = state.begunAt;
    recordDepths(state, reading.queues);
  }
  intake.offerAgain((id) => reading.isComplete && state.index.get(id) !== undefined, state.begunAt);
  state.settleFirst();
  state.isReading = false;
  state.quietReadings = isChanged ? 0 : state.quietReadings + 1;
  if (state.isRunning) schedule(state, isIdle(state) ? IDLE_INTERVAL_MS : intervalOf(state));
}

function isIdle({ quietReadings, askedAt }: QueuesState): boolean {
  return quietReadings >= IDLE_READINGS && Date.now() - askedAt > IDLE_AFTER_MS;
}

function intervalOf({ reading }: QueuesState): number {
  return Math.max(INTERVAL_MS, (reading?.queues.length ?? 0) * PER_QUEUE_MS);
}

function holds({ reading, index }: QueuesState, id: string): boolean | null {
  if (reading?.ok !== true) return null;
  return index.get(id) !== undefined ? true : reading.isComplete ? false : null;
}

function nextEta(state: QueuesState): Date | null {
  const at = Date.now();
  const revision = state.reading?.revision ?? 0;
  if (state.etas?.revision === revision && at < state.etas.until) return state.etas.at;
  state.etas = { revision, ...nextEtaOf(state.index, at) };
  return state.etas.at;
}

/**
 * Records over time how many messages wait in each queue, and since when the oldest due one has waited. Messages carry no
 * time of sending: unless a client reported it, they wait at least since they were first read.
 */
function recordDepths({ history, index, begunAt }: QueuesState, queues: readonly QueueCounts[]): void {
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

async function ready(state: QueuesState): Promise<void> {
  if (state.reading !== null || !state.isRunning) return;
  await waitFor(state.first, { ms: FIRST_READING_MS });
}

/** Most tags to remember: more than there are messages, so that nothing is recorded twice. */
const MAX_SEEN = 20_000;
/** Maximum number of facts of tasks that the history does not know yet, and how long they outlive their message. */
const MAX_UNRECORDED = 20_000;
const MAX_UNRECORDED_BYTES = 16 * 1024 * 1024;
const UNRECORDED_FOR_MS = 30_000;
/** Memory of an object with its fields, and of a relation, in bytes. */
const OBJECT = 700;
const RELATION = 150;

interface IntakeState {
  readonly history: CollectedHistory;
  readonly lineage: Pick<Lineage, 'queued'>;
  /** Tags of messages, in the order in which they were read first. */
  readonly seen: Set<string>;
  /** By task id. */
  readonly unrecorded: Map<
    string,
    {
      readonly facts: TaskFacts;
      readonly bytes: number;
      goneAt: number | null;
    }
  >;
  unrecordedBytes: number;
  unreadable: number;
}

function createMessageIntake(history: CollectedHistory, lineage: Pick<Lineage, 'queued'>) {
  const state: IntakeState = {
    history,
    lineage,
    seen: new Set(),
    unrecorded: new Map(),
    unrecordedBytes: 0,
    unreadable: 0,
  };
  return {
    take: (task: QueuedTask | null, position: MessagePosition) => take(state, task, position),
    /**
     * Offers facts again that the history did not accept: the events of a task may arrive after its message was
     * read, and even after the message has left the queue.
     *
     * @param isHeld whether a message of that task is still there
     */
    offerAgain: (isHeld: (id: string) => boolean, now: number) => offerAgain(state, isHeld, now),
    /** How many messages could not be read. */
    unreadable: () => state.unreadable,
  };
}

function take(state: IntakeState, task: QueuedTask | null, position: MessagePosition): WaitingMessage {
  const message = waitingMessage(task, position);
  if (!isNew(state, position.tag)) return message;
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
