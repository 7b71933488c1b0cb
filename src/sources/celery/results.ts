/**
 * What the result backend publishes with every write (celery/backends/redis.py): the stored "meta" of a
 * task, on the channel that is called like its key. It tells states that events do not: of workers
 * without `-E`, of thread pools that lose events, of chains that failed before a link.
 */
import type { TaskChange, TaskChangeType } from '../../history/task-history.ts';
import { storedException, storedReason } from './exceptions.ts';
import { type FullChange, kindOf } from './full-change.ts';
import { objectMembers, readString, stringEnd, valueEnd } from './json-text.ts';
import { parseMoment } from './moments.ts';
import { pythonText, pythonTupleText } from './python-repr.ts';

const TYPES: Readonly<Record<string, TaskChangeType>> = {
  RECEIVED: 'received',
  STARTED: 'started',
  RETRY: 'retried',
  SUCCESS: 'succeeded',
  FAILURE: 'failed',
  REVOKED: 'revoked',
  REJECTED: 'rejected',
};

/**
 * What one stored result says.
 *
 * @param message the value, which is JSON unless another serializer or a compression is configured
 * @param taskId the end of the channel, for a meta that does not name its task
 * @param limit longest text to make of one value, in characters
 * @returns `null` when the value is of another serializer, or not readable
 */
export function decodeResult(message: string, taskId: string, limit: number): TaskChange | null {
  if (message.charCodeAt(0) !== OPENING_BRACE) return null;
  try {
    const members = objectMembers(message);
    // Stamps are members of the meta itself, where they may hide one that Celery wrote.
    for (const stamp of stampNames(message, members)) members.delete(stamp);
    return changeOf(message, members, taskId, limit);
  } catch {
    return null;
  }
}

const OPENING_BRACE = 123;

type Members = ReadonlyMap<string, number>;

function changeOf(text: string, members: Members, taskId: string, limit: number): TaskChange | null {
  const status = stringOf(text, members, 'status');
  if (status === undefined || status === '') return null;
  const type = Object.hasOwn(TYPES, status) ? (TYPES[status] ?? 'custom') : 'custom';
  const final = type === 'succeeded' || type === 'failed' || type === 'revoked' || type === 'rejected';
  const result = members.get('result');
  const failed = type === 'failed' || type === 'retried' || type === 'revoked';
  const name = stringOf(text, members, 'name');
  const change: FullChange = {
    id: stringOf(text, members, 'task_id') ?? taskId,
    type,
    state: type === 'custom' ? status : undefined,
    eventType: type === 'custom' ? `task-${status.toLowerCase()}` : undefined,
    time: (final ? parseMoment(stringOf(text, members, 'date_done')) : undefined) ?? null,
    origin: 'result',
    worker: stringOf(text, members, 'worker') ?? (type === 'started' ? startedBy(text, result) : undefined),
    retries: integerOf(text, members, 'retries'),
    // Celery 5.6.2 and later store this when a revoke command arrives, whatever the task is doing.
    tentative:
      type === 'revoked' && result !== undefined ? storedReason(text, result) === 'revoked' : undefined,
    name,
    queue: stringOf(text, members, 'queue'),
    args: textOf(text, members.get('args'), limit, pythonTupleText),
    kwargs: textOf(text, members.get('kwargs'), limit, pythonText),
    result: type === 'succeeded' && result !== undefined ? pythonText(text, result, limit) : undefined,
    exception: failed && result !== undefined ? storedException(text, result, limit) : undefined,
    traceback: stringOf(text, members, 'traceback'),
    runtime: undefined,
    eta: undefined,
    expires: undefined,
    parentId: stringOf(text, members, 'parent_id'),
    rootId: undefined,
    groupId: stringOf(text, members, 'group_id'),
    chordId: undefined,
    kind: kindOf(name),
    truncated: undefined,
    detail:
      type === 'custom'
        ? textOf(text, result, DETAIL_LENGTH, pythonText)?.slice(0, DETAIL_LENGTH)
        : undefined,
  };
  return change as TaskChange;
}

/** Longest text made of what a task reports of its progress. */
const DETAIL_LENGTH = 1024;

function stringOf(text: string, members: Members, name: string): string | undefined {
  const at = members.get(name);
  return at !== undefined && text[at] === '"' ? readString(text, at, stringEnd(text, at)) : undefined;
}

function integerOf(text: string, members: Members, name: string): number | undefined {
  const at = members.get(name);
  if (at === undefined) return undefined;
  const value = Number(text.slice(at, valueEnd(text, at)) || Number.NaN);
  return Number.isInteger(value) && text[at] !== 'n' ? value : undefined;
}

/** Of a task that is not registered, Celery stores `null` for what it does not know. */
function textOf(
  text: string,
  start: number | undefined,
  limit: number,
  write: (text: string, start: number, limit: number) => string,
): string | undefined {
  return start === undefined || text.startsWith('null', start) ? undefined : write(text, start, limit);
}

/** With `task_track_started`, the result of a started task says who runs it. */
function startedBy(text: string, result: number | undefined): string | undefined {
  if (result === undefined || text[result] !== '{') return undefined;
  return stringOf(text, objectMembers(text, result), 'hostname');
}

function stampNames(text: string, members: Members): string[] {
  const at = members.get('stamped_headers');
  if (at === undefined || text[at] !== '[') return [];
  const names: unknown = JSON.parse(text.slice(at, valueEnd(text, at)));
  return Array.isArray(names) ? names.filter((name) => typeof name === 'string' && name !== 'task_id') : [];
}
