/** Converts Celery's events about tasks and workers (celery/events, `task-*` and `worker-*`) to changes. */
import type { TaskChange, TaskChangeType, WorkerChange } from '../../../history/history.ts';
import { progressOf } from '../../../model.ts';
import type { Steps } from '../../../scheduler.ts';
import { cutFields, type FullChange, isDelayedName, kindOf, momentOf } from './messages.ts';
import { parseBounded, SHORT_TEXT, skipSpace, valueEnd } from './python-json.ts';
import { eventException, pythonText } from './python-repr.ts';

/** A decoded event. Another process wrote it, so any field may be missing or of any type. */
export type CeleryEvent = Readonly<Record<string, unknown>>;

/** The fields that every event has. A custom event's other fields are its detail. */
const COMMON = new Set(['type', 'hostname', 'timestamp', 'utcoffset', 'pid', 'clock', 'uuid']);

/** Longest detail of a custom event, and most of its fields that are written into it. */
const DETAIL_LENGTH = 1024;
const DETAIL_FIELDS = 200;

/** Longest text to pass on, in characters: a history keeps less. */
const LONGEST_TEXT = 512 * 1024;

/**
 * Converts a `task-*` event.
 *
 * @returns `null` if it has no task id or no type
 */
export function taskChangeOf(event: CeleryEvent): TaskChange | null {
  const { uuid, type: eventType, timestamp } = event;
  if (typeof uuid !== 'string' || uuid === '' || typeof eventType !== 'string') return null;
  const type = changeTypeOf(eventType, event);
  const exception = text(event.exception);
  const traceback = text(event.traceback);
  const name = sharedText(text(event.name));
  const full: FullChange = {
    id: uuid,
    type,
    state: type === 'custom' ? eventType.slice(5).toUpperCase() : undefined,
    eventType,
    time: typeof timestamp === 'number' ? timestamp * 1000 : null,
    origin: 'event',
    stored: undefined,
    heardAt: undefined,
    worker: type === 'sent' ? undefined : sharedText(workerName(event)),
    sender: type === 'sent' ? sharedText(text(event.hostname)) : undefined,
    retries: typeof event.retries === 'number' ? event.retries : undefined,
    tentative: undefined,
    isConsequence: undefined,
    name,
    queue: sharedText(text(event.queue) ?? (type === 'sent' ? delayedQueue(event) : undefined)),
    args: text(event.args),
    kwargs: text(event.kwargs),
    result: text(event.result),
    exception: exception === undefined ? undefined : eventException(exception, traceback),
    traceback,
    runtime: typeof event.runtime === 'number' ? event.runtime : undefined,
    eta: momentOf(event.eta),
    expires: momentOf(event.expires),
    parentId: reference(event.parent_id),
    rootId: reference(event.root_id),
    groupId: undefined,
    chordId: undefined,
    kind: kindOf(name),
    stamps: undefined,
    truncated: undefined,
    progress: undefined,
    detail: undefined,
  };
  if (type === 'revoked') full.detail = revokedDetail(event);
  else if (type === 'custom') {
    full.detail = customDetail(event);
    full.progress = progressOf(event) ?? undefined;
  } else full.truncated = cutFields(full);
  return full as TaskChange;
}

/** Of kombu's native delayed delivery: 28 bits of seconds, then the routing key of the queue. */
const DELAYED_KEY = /^(?:[01]\.){28}(.+)$/s;

/**
 * The queue of a task with an eta that is sent to quorum queues (Celery 5.5): its message waits in queues of kombu's
 * (kombu/transport/native_delayed_delivery.py), and `task-sent` names no queue.
 */
function delayedQueue({ exchange, routing_key: key }: CeleryEvent): string | undefined {
  if (typeof exchange !== 'string' || !isDelayedName(exchange)) return undefined;
  return DELAYED_KEY.exec(text(key) ?? '')?.[1];
}

function changeTypeOf(eventType: string, event: CeleryEvent): TaskChangeType {
  switch (eventType) {
    case 'task-sent':
      return 'sent';
    case 'task-received':
      return 'received';
    case 'task-started':
      return 'started';
    case 'task-succeeded':
      return 'succeeded';
    case 'task-failed':
      return 'failed';
    case 'task-retried':
      return 'retried';
    case 'task-revoked':
      return 'revoked';
    case 'task-rejected':
      return event.requeue === true ? 'requeued' : 'rejected';
    default:
      return 'custom';
  }
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value.slice(0, LONGEST_TEXT) : undefined;
}

/** `null` means that there is none; an absent field means unknown. */
function reference(value: unknown): string | null | undefined {
  return value === null || typeof value === 'string' ? value : undefined;
}

/**
 * The worker that sent the event. Clients, beat and pool processes that publish by themselves are no workers;
 * kombu names them `gen<pid>@<host>`.
 */
function workerName(event: CeleryEvent): string | undefined {
  const { hostname, pid } = event;
  if (typeof hostname !== 'string' || hostname === '') return undefined;
  if (!hostname.startsWith('gen')) return hostname;
  const number = hostname.slice(3, Math.max(hostname.indexOf('@'), 3));
  // A worker that was named `gen1@host` on purpose is unlikely to have the process id 1 too.
  const anonymous = typeof pid === 'number' ? number === String(pid) : /^\d+$/.test(number);
  return anonymous ? undefined : hostname;
}

function revokedDetail(event: CeleryEvent): string {
  if (event.expired === true) return 'expired';
  if (event.terminated !== true) return 'revoked';
  const { signum } = event;
  return typeof signum === 'number' || typeof signum === 'string'
    ? `terminated by signal ${signum}`
    : 'terminated';
}

function customDetail(event: CeleryEvent): string | undefined {
  const own = Object.entries(event).filter(([field]) => !COMMON.has(field));
  if (own.length === 0) return undefined;
  const shown = own
    .slice(0, DETAIL_FIELDS)
    .map(([field, value]) => [field, typeof value === 'string' ? value.slice(0, DETAIL_LENGTH) : value]);
  return pythonText(JSON.stringify(Object.fromEntries(shown)), 0, DETAIL_LENGTH).slice(0, DETAIL_LENGTH);
}

/** Maximum number of texts, and the longest one, in characters. */
const MAX_TEXTS = 1_000;
const MAX_LENGTH = 256;

const texts = new Map<string, string>();

/**
 * Nearly every event repeats the name of a task, a worker or a queue, each time as a separate text. With one text for
 * all of them, look-ups by it are faster, and the copies are dropped at once.
 *
 * @returns the same text for equal texts
 */
function sharedText(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const known = texts.get(text);
  if (known !== undefined) return known;
  if (text.length > MAX_LENGTH) return text;
  if (texts.size >= MAX_TEXTS) texts.clear();
  texts.set(text, text);
  return text;
}

/**
 * Converts a `worker-*` event.
 *
 * @returns `null` for events that do not matter here (`worker-elect`), and without a time or a name
 */
export function workerChangeOf(event: CeleryEvent): WorkerChange | null {
  const type = workerChangeType(event.type);
  const hostname = workerName(event);
  const { timestamp, freq, active, processed, loadavg, pid, sw_ident: ident, sw_ver: version } = event;
  if (type === null || hostname === undefined || typeof timestamp !== 'number') return null;
  // A heartbeat sent in answer to the control command `heartbeat` has no figures and a wrong `freq`.
  const forced = type === 'heartbeat' && active === undefined && processed === undefined;
  return {
    hostname,
    type,
    time: timestamp * 1000,
    ...(typeof freq === 'number' && freq > 0 && !forced ? { interval: freq } : {}),
    ...(typeof pid === 'number' ? { pid } : {}),
    ...(typeof active === 'number' ? { active } : {}),
    ...(typeof processed === 'number' ? { processed } : {}),
    ...(isNumbers(loadavg) ? { loadAverage: loadavg } : {}),
    ...(typeof ident === 'string'
      ? { software: typeof version === 'string' ? `${ident} ${version}` : ident }
      : {}),
  };
}

function workerChangeType(type: unknown): WorkerChange['type'] | null {
  if (type === 'worker-heartbeat') return 'heartbeat';
  if (type === 'worker-online') return 'online';
  return type === 'worker-offline' ? 'offline' : null;
}

function isNumbers(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'number');
}

/** Longest body, in bytes. Celery sends up to 24 events together, each of a few kilobytes. */
export const LONGEST_BODY = 4 * 1024 * 1024;

/** Events of an array that are parsed between two pauses. */
const EVENTS_AT_ONCE = 32;

/**
 * The body of a message on the exchange of events: one event, or an array of them.
 *
 * @returns `undefined` if the text is not JSON, or takes too long to read
 */
export function parseBody(text: string): unknown {
  try {
    return parseBounded(text);
  } catch {
    return undefined;
  }
}

/**
 * Parses a long array a few events at a time, and everything else as a whole.
 *
 * @param take receives what {@link parseBody} would return, or one part of the array after the other
 */
export function* parseInSteps(text: string, take: (body: unknown) => void): Steps<void> {
  let at = skipSpace(text, 0);
  if (text[at] !== '[' || text[skipSpace(text, at + 1)] === ']') return take(parseBody(text));
  for (let isOver = false; !isOver; ) {
    const start = at + 1;
    try {
      for (let count = 0; count < EVENTS_AT_ONCE && at - start < SHORT_TEXT / 2 && !isOver; count += 1) {
        at = skipSpace(text, valueEnd(text, skipSpace(text, at + 1)));
        isOver = text[at] !== ',';
      }
    } catch {
      return take(undefined);
    }
    yield;
    take(parseBody(`[${text.slice(start, at)}]`));
    yield;
  }
  if (text[at] !== ']') take(undefined);
}
