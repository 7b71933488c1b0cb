/**
 * Decodes messages of tasks as kombu stores them in Redis (kombu/transport/redis.py): an element of a queue's
 * list is a message, a value of the hash `unacked` is `[message, exchange, routing_key]`. The task is in the
 * headers (protocol 2, celery/app/amqp.py `as_task_v2`) or in the body (protocol 1).
 */
import type { TaskFacts } from '../../../history/history.ts';
import { type TaskTextField, type TimeLimits, traceIdOf } from '../../../model.ts';
import { filledString, isRecord, isTime } from '../../../values.ts';
import { firstTasks } from './announced.ts';
import {
  type BodyForm,
  MAX_NAME,
  MAX_TEXT,
  type MessageContent,
  name,
  readParts,
  splitMessage,
} from './message-parts.ts';
import { kindOf, momentOf, type QueuedTask, type Signature, wasCut } from './messages.ts';

/** Finds the queue that an exchange and a routing key lead to; `null` if there are several. */
export type FindQueue = (exchange: string, routingKey: string) => string | null;

/**
 * Decodes an element of a queue's list.
 *
 * @returns `null` if it is not a readable message of a task
 */
export function decodeWaiting(raw: string, queue: string): QueuedTask | null {
  return guarded(() => {
    const { value, body } = splitMessage(raw, '{');
    return taskOf(value, body, queue);
  });
}

/**
 * Decodes a value of `unacked`.
 *
 * @returns `null` if it is not a readable message of a task
 */
export function decodeTaken(raw: string, findQueue: FindQueue): QueuedTask | null {
  return guarded(() => {
    const { value, body } = splitMessage(raw, '[{');
    if (!Array.isArray(value)) return null;
    const [message, exchange, routingKey] = value as unknown[];
    return taskOf(message, body, findQueue(filledString(exchange) ?? '', filledString(routingKey) ?? ''));
  });
}

function guarded(decode: () => QueuedTask | null): QueuedTask | null {
  try {
    return decode();
  } catch {
    return null;
  }
}

/** @param queue `null` if unknown */
function taskOf(value: unknown, body: string | null, queue: string | null): QueuedTask | null {
  if (!isRecord(value)) return null;
  const headers = isRecord(value.headers) ? value.headers : {};
  const properties = isRecord(value.properties) ? value.properties : {};
  const form: BodyForm = {
    type: value['content-type'],
    encoding: properties.body_encoding,
    compression: headers.compression,
  };
  const packed = body ?? (typeof value.body === 'string' ? value.body : '');
  const content = readParts(headers, packed, form);
  const id = name(content.fields.id) ?? name(properties.correlation_id);
  if (id === null || (content.fields.id !== undefined && name(content.fields.id) === null)) return null;
  const { embed } = content;
  const read = createSignatureReader();
  const chord = read.one(embed.chord);
  const traceId = traceIn(headers);
  return {
    facts: {
      ...factsOf(id, content, queue, embed.chord === undefined ? undefined : bodyOf(chord)),
      ...(traceId !== null && { traceId }),
    },
    deliveryTag: filledString(properties.delivery_tag) ?? '',
    periodicTask: name(properties.periodic_task_name) ?? name(headers.periodic_task_name),
    // The body has the steps in reverse: Celery takes the next one off the end.
    chain: read.list(embed.chain).reverse(),
    callbacks: read.list(embed.callbacks),
    errbacks: read.list(embed.errbacks),
    chord,
  };
}

function factsOf(
  id: string,
  { fields, args, kwargs }: MessageContent,
  queue: string | null,
  chordId: string | null | undefined,
): TaskFacts {
  const taskName = name(fields.task) ?? undefined;
  const cut: TaskTextField[] = [];
  const shown = (field: TaskTextField, value: string | undefined): string | undefined => {
    if (value === undefined) return undefined;
    const isLong = value.length > MAX_TEXT;
    if (isLong || wasCut(value)) cut.push(field);
    // Copy: a slice would keep the whole text in memory.
    return isLong ? Buffer.from(value.slice(0, MAX_TEXT)).toString('utf8') : value;
  };
  return {
    id,
    name: taskName,
    queue: queue ?? undefined,
    args: shown('args', args),
    kwargs: shown('kwargs', kwargs),
    retries: Number.isSafeInteger(fields.retries) ? Number(fields.retries) : undefined,
    eta: momentOf(fields.eta),
    expires: momentOf(fields.expires),
    parentId: reference(fields.parent_id),
    rootId: reference(fields.root_id),
    groupId: reference(fields.group),
    chordId,
    kind: kindOf(taskName),
    stamps: stampsOf(fields.stamps),
    timeLimits: timeLimitsOf(fields.timelimit),
    truncated: cut.length > 0 ? cut : undefined,
  } as TaskFacts;
}

/** The header `timelimit` has the hard limit before the soft one, in seconds (celery/app/amqp.py). */
function timeLimitsOf(limits: unknown): TimeLimits | null {
  const [hard, soft] = Array.isArray(limits) ? (limits as unknown[]) : [];
  if (!isTime(hard) && !isTime(soft)) return null;
  return { soft: isTime(soft) ? soft : null, hard: isTime(hard) ? hard : null };
}

/** The body of a chord; if it has several tasks, the one that sorts first. */
function bodyOf(chord: Signature | null): string | null | undefined {
  if (chord === null) return null;
  return firstTasks(chord)
    .filter((id) => id.length <= MAX_NAME)
    .sort()[0];
}

/** Longest stamps to keep, as JSON; a history does not keep longer ones. */
const MAX_STAMPS = 4096;

function stampsOf(stamps: unknown): unknown {
  if (!isRecord(stamps) || Object.keys(stamps).length === 0) return undefined;
  return JSON.stringify(stamps).length <= MAX_STAMPS ? stamps : undefined;
}

/**
 * Trace data of an instrumentation of the sender. In some versions of Celery, the headers that an app sets are one
 * level deeper (celery#4875).
 */
function traceIn({ traceparent, headers }: Readonly<Record<string, unknown>>): string | null {
  return traceIdOf(traceparent) ?? (isRecord(headers) ? traceIdOf(headers.traceparent) : null);
}

/** `null` means that there is none; an absent field means unknown. */
function reference(value: unknown): string | null | undefined {
  return value === null ? null : (name(value) ?? undefined);
}

/** Deepest nesting, and most signatures of one message; the rest is left out. */
const MAX_DEPTH = 32;
const MAX_SIGNATURES = 10_000;

/** Celery's names of canvases, for signatures without a `subtask_type`. */
const TYPES: Readonly<Record<string, string>> = {
  'celery.chain': 'chain',
  'celery.group': 'group',
  'celery.chord': 'chord',
  'celery.map': 'map',
  'celery.starmap': 'starmap',
  'celery.chunks': 'chunks',
};

/** @returns a reader for one message */
function createSignatureReader() {
  let left = MAX_SIGNATURES;

  function one(value: unknown, depth: number): Signature | null {
    if (!isRecord(value) || depth > MAX_DEPTH || left <= 0) return null;
    left -= 1;
    const name = filledString(value.task);
    const type = filledString(value.subtask_type) ?? (name === null ? null : typeOf(name));
    const options = isRecord(value.options) ? value.options : {};
    const kwargs = isRecord(value.kwargs) ? value.kwargs : {};
    const below = depth + 1;
    return {
      name,
      taskId: filledString(options.task_id),
      groupId: filledString(options.group_id),
      type,
      tasks:
        type === 'chord' ? header(kwargs.header, below) : isCanvas(type) ? list(kwargs.tasks, below) : [],
      body: type === 'chord' ? one(kwargs.body, below) : null,
      callbacks: list(options.link, below),
      errbacks: list(options.link_error, below),
      chord: one(options.chord, below),
    };
  }

  function list(value: unknown, depth: number): Signature[] {
    const found: Signature[] = [];
    for (const item of Array.isArray(value) ? value : [value]) {
      const signature = one(item, depth);
      if (signature !== null) found.push(signature);
    }
    return found;
  }

  /** A list of tasks, or a group of them. */
  function header(value: unknown, depth: number): Signature[] {
    const tasks = list(value, depth);
    const [first] = tasks;
    return !Array.isArray(value) && first?.type === 'group' ? [...first.tasks] : tasks;
  }

  return {
    /** Reads a list of signatures or a single one. Everything else is left out. */
    list: (value: unknown) => list(value, 0),
    one: (value: unknown) => one(value, 0),
  };
}

function typeOf(name: string): string | null {
  return Object.hasOwn(TYPES, name) ? (TYPES[name] ?? null) : null;
}

function isCanvas(type: string | null): boolean {
  return type === 'chain' || type === 'group';
}
