import { randomUUID } from 'node:crypto';
import { recordOf } from '../../../values.ts';
import type { Mailbox, ReplyMessage } from '../broker.ts';
import { parsePythonJson } from '../protocol/python-json.ts';
import { type ControlCommand, createRequest, isNodeName } from './encoder.ts';

/** How long workers may take to answer, in milliseconds; Celery's own default. */
const TIMEOUT_MS = 1000;
/** Milliseconds to wait for further replies once those that can be expected have arrived. */
const GRACE_MS = 100;
/** For how many milliseconds a broadcast that waited to its end decides whose replies can be expected. */
const USUAL_FOR_MS = 10_000;
/** The same for the last broadcast where the broker does not report who received it. */
const UNCOUNTED_USUAL_FOR_MS = 60_000;
const MAX_REPLIES = 10_000;

/** What workers answered to one request. */
export interface Replies {
  /** By node name; `null` for an error, and for a reply that cannot be read. */
  readonly values: ReadonlyMap<string, unknown>;
  /** Workers that answered in an encoding that hides even their names. */
  readonly unnamed: number;
  /** Replies that report that the worker could not do it. */
  readonly errors: number;
  /** Replies in another encoding than JSON (`task_serializer`). */
  readonly unreadable: number;
  /** Whether every worker answered that is known or that received the request. */
  readonly isComplete: boolean;
}

/**
 * Sends a request and collects the replies.
 *
 * @param workers node names of the workers that are to act on it; default: all workers
 * @throws ControlFailure when nothing could be sent, or no reply be received
 */
export type Broadcast = (command: ControlCommand, workers?: readonly string[]) => Promise<Replies>;

interface Broadcaster {
  readonly mailbox: Mailbox;
  readonly known: () => readonly string[];
  usual: {
    readonly names: ReadonlySet<string>;
    readonly receivers: number | null;
    /** Monotonic, in milliseconds. */
    readonly until: number;
  } | null;
}

/** The replies to one request, while they arrive. */
type Collection = ReturnType<typeof newCollection>;

/**
 * Sends requests to workers and waits for replies no longer than necessary.
 *
 * @param known names of the workers that are online, as far as others know
 */
export function createBroadcaster(mailbox: Mailbox, known: () => readonly string[]): Broadcast {
  const broadcaster: Broadcaster = { mailbox, known, usual: null };
  return (command, workers) => broadcast(broadcaster, command, workers ?? null);
}

async function broadcast(
  broadcaster: Broadcaster,
  command: ControlCommand,
  workers: readonly string[] | null,
): Promise<Replies> {
  const collection = newCollection(workers);
  const expires = (Date.now() + TIMEOUT_MS) / 1000;
  const request = createRequest(command, workers, { ticket: randomUUID(), expires });
  const sent = await broadcaster.mailbox.send(request, TIMEOUT_MS, {
    onReply(message) {
      const reply = decodeReply(message, broadcaster.known);
      return reply !== null && takeReply(broadcaster, collection, reply);
    },
    onLost(error) {
      collection.lost = { error };
      collection.finish();
    },
  });
  collection.isSent = true;
  collection.receivers = sent.receivers;
  let isLate = false;
  const deadline = setTimeout(() => {
    isLate = true;
    collection.finish();
  }, TIMEOUT_MS).unref();
  finishWhenAnswered(broadcaster, collection);
  await collection.finished;
  clearTimeout(deadline);
  clearTimeout(collection.grace);
  const isAll = isComplete(broadcaster, collection);
  const { values, answers, receivers, lost, unnamed, errors, unreadable } = collection;
  sent.end(workers === null && receivers !== null ? answers >= receivers : isAll);
  if (lost !== null && answers === 0) throw lost.error;
  if (workers === null && (isLate || receivers === null)) {
    const until = performance.now() + (receivers === null ? UNCOUNTED_USUAL_FOR_MS : USUAL_FOR_MS);
    broadcaster.usual = { names: new Set(values.keys()), receivers, until };
  }
  return { values, unnamed, errors, unreadable, isComplete: isAll };
}

function newCollection(workers: readonly string[] | null) {
  let finish = (): void => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  return {
    /** Node names of the workers that were asked; `null`: all workers. */
    workers,
    values: new Map<string, unknown>(),
    answers: 0,
    unnamed: 0,
    errors: 0,
    unreadable: 0,
    /**
     * How many connections have received the request, of workers and perhaps of others; `null` if that is not known, and
     * until the request has been sent.
     */
    receivers: null as number | null,
    isSent: false,
    grace: undefined as NodeJS.Timeout | undefined,
    /** Why no further reply can arrive. */
    lost: null as { readonly error: unknown } | null,
    finished,
    finish,
  };
}

/** @returns whether no further reply is expected */
function takeReply(broadcaster: Broadcaster, collection: Collection, reply: ControlReply): boolean {
  if (collection.answers >= MAX_REPLIES) return false;
  collection.answers += 1;
  if (reply.isError) collection.errors += 1;
  if (reply.isUnreadable) collection.unreadable += 1;
  if (reply.worker === null) collection.unnamed += 1;
  else collection.values.set(reply.worker, reply.value);
  return finishWhenAnswered(broadcaster, collection);
}

/** @returns whether every reply that can arrive has arrived */
function finishWhenAnswered(broadcaster: Broadcaster, collection: Collection): boolean {
  // Workers without heartbeats are not known. Unless receivers are counted, they get a short time more.
  const isClosed = collection.workers !== null || collection.receivers !== null;
  if (isClosed && isComplete(broadcaster, collection)) {
    collection.finish();
    return true;
  }
  if (collection.grace === undefined && isEnough(broadcaster, collection)) {
    collection.grace = setTimeout(collection.finish, GRACE_MS).unref();
  }
  return false;
}

function isComplete({ known }: Broadcaster, collection: Collection): boolean {
  const { workers, values, answers, receivers, isSent } = collection;
  if (workers !== null) return answers >= workers.length && workers.every((name) => values.has(name));
  if (!isSent) return false;
  const names = known();
  const isCounted = receivers === null ? names.length > 0 : answers >= receivers;
  return isCounted && names.every((name) => values.has(name));
}

/** Whether enough have answered that the rest gets only a short time more. */
function isEnough({ usual, known }: Broadcaster, collection: Collection): boolean {
  const { workers, values, answers, receivers, isSent } = collection;
  if (!isSent) return false;
  if (workers !== null) return receivers === 0;
  if (receivers !== null && answers >= receivers) return true;
  const isUsual = usual !== null && performance.now() <= usual.until;
  if (receivers === null) {
    const expected = new Set([...known(), ...(isUsual ? usual.names : [])]);
    return (isUsual || expected.size > 0) && [...expected].every((name) => values.has(name));
  }
  if (!isUsual) return false;
  const isGrown = usual.receivers !== null && receivers > usual.receivers;
  return !isGrown && [...usual.names].every((name) => values.has(name));
}

/** One worker's answer (kombu/pidbox.py, `Mailbox._publish_reply`). */
interface ControlReply {
  /** `null` when the body names no worker that is known. */
  readonly worker: string | null;
  /** What the worker answered; `null` for an error, and for a body that cannot be read. */
  readonly value: unknown;
  /** The worker could not do what was asked. */
  readonly isError: boolean;
  /** The body has another encoding than JSON: it only proves that the worker is alive. */
  readonly isUnreadable: boolean;
}

/**
 * Decodes a reply. Only JSON is decoded: a pickle may run any code.
 *
 * @param known names of workers that may have sent the reply
 * @returns `null` for a body that is no reply
 */
function decodeReply(
  { contentType, isCompressed, body }: ReplyMessage,
  known: () => readonly string[],
): ControlReply | null {
  if (contentType !== 'application/json' || isCompressed) {
    return { worker: knownNameIn(body, known()), value: null, isError: false, isUnreadable: true };
  }
  const table = tableIn(body.toString('utf8'));
  const worker = table === null ? undefined : Object.keys(table)[0];
  if (table === null || worker === undefined || !isNodeName(worker)) return null;
  const value = table[worker];
  const isError = isErrorReply(value);
  return { worker, value: isError ? null : (value ?? null), isError, isUnreadable: false };
}

/** Every encoding has the worker's name in its body. One name may be the beginning of another: the longer one is meant. */
function knownNameIn(body: Buffer, known: readonly string[]): string | null {
  const found = known.filter((name) => name !== '' && body.includes(name));
  return found.sort((a, b) => b.length - a.length)[0] ?? null;
}

/** `{"error": "KeyError('nosuch')"}`. The text of a worker's exception is not passed on. */
function isErrorReply(value: unknown): boolean {
  const reply = recordOf(value);
  return reply !== null && Object.keys(reply).length === 1 && typeof reply.error === 'string';
}

function tableIn(text: string): Readonly<Record<string, unknown>> | null {
  try {
    return recordOf(parsePythonJson(text));
  } catch {
    return null;
  }
}
