/** Celery's events about tasks (celery/events, `task-*`) as changes of the history. */

import type { TaskChange, TaskChangeType } from '../../../history/history.ts';
import type { TaskTextField } from '../../../model.ts';
import { eventException } from './exceptions.ts';
import { type FullChange, kindOf } from './full-change.ts';
import { parseMoment } from './moments.ts';
import { pythonText } from './python-repr.ts';
import { wasCut } from './truncation.ts';

/** A decoded event: an object from somebody else's process, so no field is sure to be there. */
export type CeleryEvent = Readonly<Record<string, unknown>>;

/** What every event has; all else that a custom event carries is its sender's own. */
const COMMON = new Set(['type', 'hostname', 'timestamp', 'utcoffset', 'pid', 'clock', 'uuid']);

/** Longest text made of a custom event's own fields. */
const DETAIL_LENGTH = 1024;

/**
 * What a `task-*` event says.
 *
 * @returns `null` when it lacks a task id, so that it says nothing
 */
export function taskChangeOf(event: CeleryEvent): TaskChange | null {
  const { uuid, type: eventType, timestamp } = event;
  if (typeof uuid !== 'string' || uuid === '' || typeof eventType !== 'string') return null;
  const type = changeTypeOf(eventType, event);
  const exception = text(event.exception);
  const traceback = text(event.traceback);
  const name = text(event.name);
  const full: FullChange = {
    id: uuid,
    type,
    state: type === 'custom' ? eventType.slice(5).toUpperCase() : undefined,
    eventType,
    time: typeof timestamp === 'number' ? timestamp * 1000 : null,
    origin: 'event',
    stored: undefined,
    heardAt: undefined,
    worker: type === 'sent' ? undefined : workerName(event),
    retries: typeof event.retries === 'number' ? event.retries : undefined,
    tentative: undefined,
    name,
    queue: text(event.queue),
    args: text(event.args),
    kwargs: text(event.kwargs),
    result: text(event.result),
    exception: exception === undefined ? undefined : eventException(exception, traceback),
    traceback,
    runtime: typeof event.runtime === 'number' ? event.runtime : undefined,
    eta: moment(event.eta),
    expires: moment(event.expires),
    parentId: reference(event.parent_id),
    rootId: reference(event.root_id),
    groupId: undefined,
    chordId: undefined,
    kind: kindOf(name),
    stamps: undefined,
    truncated: undefined,
    detail: undefined,
  };
  if (type === 'revoked') full.detail = revokedDetail(event);
  else if (type === 'custom') full.detail = customDetail(event);
  else full.truncated = cutFields(full);
  return full as TaskChange;
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
  return typeof value === 'string' ? value : undefined;
}

/** `null` says that there is none; a missing field says nothing. */
function reference(value: unknown): string | null | undefined {
  return value === null || typeof value === 'string' ? value : undefined;
}

function moment(value: unknown): number | null | undefined {
  return value === null ? null : parseMoment(value);
}

/**
 * The worker that sent the event. Clients, beat and pool processes that publish by themselves are
 * called `gen<pid>@<host>` (kombu's anonymous node name) and are no workers.
 */
export function workerName(event: CeleryEvent): string | undefined {
  const { hostname, pid } = event;
  if (typeof hostname !== 'string' || hostname === '') return undefined;
  if (!hostname.startsWith('gen')) return hostname;
  const number = hostname.slice(3, Math.max(hostname.indexOf('@'), 3));
  // A worker that was named `gen1@host` on purpose hardly has the process id 1 as well.
  const anonymous = typeof pid === 'number' ? number === String(pid) : /^\d+$/.test(number);
  return anonymous ? undefined : hostname;
}

function cutFields(change: FullChange): readonly TaskTextField[] | undefined {
  let cut: TaskTextField[] | undefined;
  if (typeof change.args === 'string' && wasCut(change.args)) cut = ['args'];
  if (typeof change.kwargs === 'string' && wasCut(change.kwargs)) cut = [...(cut ?? []), 'kwargs'];
  if (typeof change.result === 'string' && wasCut(change.result)) cut = [...(cut ?? []), 'result'];
  return cut;
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
  return pythonText(JSON.stringify(Object.fromEntries(own)), 0, DETAIL_LENGTH).slice(0, DETAIL_LENGTH);
}
