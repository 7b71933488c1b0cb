/**
 * Decodes the stored result ("meta") of a task. Results have states that events miss: of workers without `-E`,
 * of thread pools that lose events, of the steps after a failed step of a chain.
 */
import type { TaskChange, TaskChangeType } from '../../../history/history.ts';
import { progressOf, type TaskProgress, type TaskTextField } from '../../../model.ts';
import {
  type FullChange,
  isId,
  kindOf,
  parseMoment,
  type ResultNode,
  type StoredResult,
} from './messages.ts';
import { objectMembers, parsePythonJson, readString, skipSpace, stringEnd, valueEnd } from './python-json.ts';
import {
  failedHeaderTask,
  lastException,
  pythonText,
  pythonTupleText,
  storedException,
  storedReason,
} from './python-repr.ts';

const TYPES: Readonly<Record<string, TaskChangeType>> = {
  // Celery stores no such result; apps create rows in SQL when they send a task.
  PENDING: 'sent',
  RECEIVED: 'received',
  STARTED: 'started',
  RETRY: 'retried',
  SUCCESS: 'succeeded',
  FAILURE: 'failed',
  REVOKED: 'revoked',
  REJECTED: 'rejected',
};

/**
 * Decodes one stored result.
 *
 * @param message the value, which is JSON unless another serializer or compression is configured
 * @param taskId the task whose result it is, in case the value does not name it
 * @param limit longest text of one value, in characters
 * @returns `null` if the value has another format or is invalid
 */
export function decodeResult(message: string, taskId: string, limit: number): StoredResult | null {
  if (message.charCodeAt(0) !== OPENING_BRACE) return null;
  try {
    const members = objectMembers(message);
    const stamps = takeStamps(message, members);
    const change = changeOf(message, members, taskId, limit, stamps);
    return change === null ? null : { change, children: childrenAt(message, members.get('children')) };
  } catch {
    return null;
  }
}

const OPENING_BRACE = 123;
/**
 * Members that Celery never writes, for backends that store results in another form: why the result could not be read,
 * as a sentence, and the names of fields that are cut or left out.
 */
export const UNREAD_MEMBER = 'monitor_unread';
export const CUT_MEMBER = 'monitor_cut';

type Members = ReadonlyMap<string, number>;

function changeOf(
  text: string,
  members: Members,
  taskId: string,
  limit: number,
  stamps: object | undefined,
): TaskChange | null {
  const status = stringOf(text, members, 'status');
  if (status === undefined || status === '') return null;
  const type = Object.hasOwn(TYPES, status) ? (TYPES[status] ?? 'custom') : 'custom';
  const isDated = DATED.has(type);
  const result = members.get('result');
  const failed = type === 'failed' || type === 'retried' || type === 'revoked';
  const name = stringOf(text, members, 'name');
  const worker = stringOf(text, members, 'worker');
  const change: FullChange = {
    id: stringOf(text, members, 'task_id') ?? taskId,
    type,
    state: type === 'custom' ? status : undefined,
    eventType: undefined,
    time: (isDated ? parseMoment(stringOf(text, members, 'date_done')) : undefined) ?? null,
    origin: 'result',
    stored: undefined,
    heardAt: undefined,
    worker: worker ?? (type === 'started' ? startedBy(text, result) : undefined),
    sender: undefined,
    retries: integerOf(text, members, 'retries'),
    // Celery 5.6.2 and later store this as soon as a revoke command arrives, even while the task runs.
    tentative:
      type === 'revoked' && result !== undefined ? storedReason(text, result) === 'revoked' : undefined,
    isConsequence: undefined,
    name,
    queue: stringOf(text, members, 'queue'),
    args: argumentsOf(text, members.get('args'), limit, pythonTupleText),
    kwargs: argumentsOf(text, members.get('kwargs'), limit, pythonText),
    result:
      type === 'succeeded' && result !== undefined ? detached(pythonText(text, result, limit)) : undefined,
    exception: failed ? exceptionOf(text, members, limit) : undefined,
    traceback: stringOf(text, members, 'traceback'),
    runtime: undefined,
    eta: undefined,
    expires: undefined,
    parentId: parentOf(text, members, hasRun(type, worker)),
    rootId: undefined,
    groupId: stringOf(text, members, 'group_id'),
    chordId: undefined,
    kind: kindOf(name),
    stamps,
    truncated: cutFields(text, members),
    progress: type === 'custom' ? storedProgress(text, result) : undefined,
    detail:
      type === 'custom'
        ? textOf(text, result, DETAIL_LENGTH, pythonText)?.slice(0, DETAIL_LENGTH)
        : stringOf(text, members, UNREAD_MEMBER),
  };
  if (type === 'failed' && neverRan(text, members, change)) change.isConsequence = true;
  return change as TaskChange;
}

/** Results that show when their change happened. */
const DATED: ReadonlySet<TaskChangeType> = new Set(['sent', 'succeeded', 'failed', 'revoked', 'rejected']);

/**
 * @param isRun whether a worker has run the task: its result then names the parent if there is one, unless `parent_id` is
 * `false` because results are stored without it
 */
function parentOf(text: string, members: Members, isRun: boolean): string | null | undefined {
  const at = members.get('parent_id');
  const isUnknown = at !== undefined && text.startsWith('false', at);
  return stringOf(text, members, 'parent_id') ?? (isRun && !isUnknown ? null : undefined);
}

function cutFields(text: string, members: Members): TaskTextField[] | undefined {
  const at = members.get(CUT_MEMBER);
  return at === undefined ? undefined : (JSON.parse(text.slice(at, valueEnd(text, at))) as TaskTextField[]);
}

/**
 * Whether the failure of another task is stored as the one of this task: as a step of a chain after a failed one, which
 * an extended result shows by a name without a worker (celery/backends/base.py, `mark_as_failure`), or as the body of a
 * chord. The result of a task that a worker does not know has no name either.
 */
function neverRan(text: string, members: Members, change: FullChange): boolean {
  const worker = members.get('worker');
  const hasNoWorker = worker !== undefined && text.startsWith('null', worker);
  return (hasNoWorker && typeof change.name === 'string') || failedHeaderTask(change as TaskChange) !== null;
}

/**
 * Whether a worker has run the task. Its result then names the parent if there is one. The result of a task
 * that never ran (after a failed step, after a revoke) never names a parent.
 */
function hasRun(type: TaskChangeType, worker: string | undefined): boolean {
  return worker !== undefined || type === 'succeeded' || type === 'retried' || type === 'started';
}

/** Longest text of a task's progress, in characters. */
const DETAIL_LENGTH = 1024;

function stringOf(text: string, members: Members, name: string): string | undefined {
  const at = members.get(name);
  if (at === undefined || text[at] !== '"') return undefined;
  return detached(readString(text, at, stringEnd(text, at)));
}

/** Longest part that V8 copies. A longer part keeps the whole text in memory. */
const SHORTEST_PART = 13;

/** Copies a part, so that a few characters do not keep a result of megabytes in memory. */
function detached(part: string): string {
  return part.length < SHORTEST_PART ? part : `.${part}`.slice(1);
}

function integerOf(text: string, members: Members, name: string): number | undefined {
  const at = members.get(name);
  if (at === undefined) return undefined;
  const value = Number(text.slice(at, valueEnd(text, at)) || Number.NaN);
  return Number.isInteger(value) && text[at] !== 'n' ? value : undefined;
}

/** @returns `undefined` for `null`, which Celery stores for unknown fields of an unregistered task */
function textOf(
  text: string,
  start: number | undefined,
  limit: number,
  write: (text: string, start: number, limit: number) => string,
): string | undefined {
  if (start === undefined || text.startsWith('null', start)) return undefined;
  return detached(write(text, start, limit));
}

/** Arguments as a list or object, or as the text that the event has: django-celery-results stores that. */
function argumentsOf(
  text: string,
  start: number | undefined,
  limit: number,
  write: (text: string, start: number, limit: number) => string,
): string | undefined {
  if (start === undefined || text[start] !== '"') return textOf(text, start, limit, write);
  return detached(readString(text, start, stringEnd(text, start)));
}

/** The traceback ends in the exception, if the result itself could not be read. */
function exceptionOf(text: string, members: Members, limit: number): string | undefined {
  const result = members.get('result');
  const exception =
    result === undefined
      ? lastException(stringOf(text, members, 'traceback') ?? '')
      : storedException(text, result, limit);
  return typeof exception === 'string' ? detached(exception) : undefined;
}

/** With `task_track_started`, the result of a started task names the worker that runs it. */
function startedBy(text: string, result: number | undefined): string | undefined {
  if (result === undefined || text[result] !== '{') return undefined;
  return stringOf(text, objectMembers(text, result), 'hostname');
}

/**
 * Reads the state from the beginning of a result that is too long; Celery writes it first.
 *
 * @returns `null` if the text does not begin like a result
 */
export function decodeResultHead(head: string, taskId: string): StoredResult | null {
  const status = /^\{"status": "[^"\\]{1,128}"/.exec(head);
  const result = status === null ? null : decodeResult(`${status[0]}}`, taskId, 0);
  if (result === null || result.change.type !== 'succeeded') return result;
  return { ...result, change: { ...result.change, truncated: ['result'] } };
}

const DATE = '"date_done": ';

/**
 * When the task of a result ended, in milliseconds since 1970, without decoding the result.
 *
 * @returns `null` if it has not ended, or if that requires decoding
 */
export function endedAt(text: string): number | null {
  const at = text.indexOf(DATE);
  // Quotes inside strings are escaped, but one of the app's objects may have a member of this name.
  if (at < 0 || text.includes(DATE, at + 1)) return null;
  const start = at + DATE.length;
  if (text[start] !== '"') return null;
  return parseMoment(text.slice(start + 1, text.indexOf('"', start + 1))) ?? null;
}

/** Longest `meta` of a custom state in which progress is searched, in characters. */
const LONGEST_META = 65_536;

/** Of `update_state(state='PROGRESS', meta={'current': 3, 'total': 10})`. */
function storedProgress(text: string, start: number | undefined): TaskProgress | undefined {
  if (start === undefined) return undefined;
  const end = valueEnd(text, start);
  if (end - start > LONGEST_META) return undefined;
  try {
    return progressOf(JSON.parse(text.slice(start, end))) ?? undefined;
  } catch {
    // Python also writes NaN and Infinity.
    return undefined;
  }
}

/** Most stamps, and longest stamp; the rest is left out. */
const MOST_STAMPS = 64;
const LONGEST_STAMP = 4_096;

/**
 * Separates the stamps from the other members. Stamps are members of the meta itself, listed in
 * `stamped_headers`, and may have the names of Celery's own members.
 */
function takeStamps(text: string, members: Map<string, number>): object | undefined {
  const listAt = members.get('stamped_headers');
  if (listAt === undefined || text[listAt] !== '[') return undefined;
  const names: unknown = JSON.parse(text.slice(listAt, valueEnd(text, listAt)));
  if (!Array.isArray(names)) return undefined;
  const stamps: [name: string, value: unknown][] = [];
  for (const name of names) {
    const at = typeof name === 'string' && name !== 'task_id' ? members.get(name) : undefined;
    if (at === undefined) continue;
    members.delete(name);
    const end = valueEnd(text, at);
    const fits = end - at <= LONGEST_STAMP && stamps.length < MOST_STAMPS;
    if (fits) stamps.push([name, parsePythonJson(text.slice(at, end))]);
  }
  return stamps.length === 0 ? undefined : Object.fromEntries(stamps);
}

/** Most nodes of one result, and deepest nesting; the rest is left out. */
const MAX_NODES = 10_000;
const MAX_DEPTH = 16;
/** Characters that so many nodes need, roughly. */
const MAX_LENGTH = 2 * 1024 * 1024;
const NONE: readonly ResultNode[] = [];

/**
 * The tasks and groups in the member `children` of a result. Items of other shapes are left out.
 *
 * @param start where the value begins
 */
function childrenAt(text: string, start: number | undefined): readonly ResultNode[] {
  if (start === undefined || text[start] !== '[' || text[skipSpace(text, start + 1)] === ']') return NONE;
  const end = valueEnd(text, start);
  if (end - start > MAX_LENGTH) return NONE;
  try {
    const value: unknown = JSON.parse(text.slice(start, end));
    return Array.isArray(value) ? nodesOf(value, { left: MAX_NODES }, 0) : NONE;
  } catch {
    return NONE;
  }
}

/**
 * Decodes a stored group, the value of `celery-taskset-meta-<id>`: `{"result": [[id, parent], [member, …]]}`.
 *
 * @returns `null` if it is not readable
 */
export function decodeGroup(text: string): ResultNode | null {
  if (text.length > MAX_LENGTH) return null;
  try {
    const { result } = JSON.parse(text) as { result?: unknown };
    const node = nodeOf(result, { left: MAX_NODES }, 0);
    return node === null || node.members === null ? null : node;
  } catch {
    return null;
  }
}

interface Budget {
  left: number;
}

function nodesOf(values: readonly unknown[], budget: Budget, depth: number): ResultNode[] {
  const nodes: ResultNode[] = [];
  for (const value of values) {
    if (budget.left <= 0) break;
    const node = nodeOf(value, budget, depth);
    if (node !== null) nodes.push(node);
  }
  return nodes;
}

/** As celery/result.py writes it (`as_tuple`): a task is `[[id, parent], null]`, a group `[[id, parent], [member, …]]`. */
function nodeOf(value: unknown, budget: Budget, depth: number): ResultNode | null {
  budget.left -= 1;
  if (!Array.isArray(value) || !Array.isArray(value[0]) || depth > MAX_DEPTH) return null;
  const [[id, parent], members] = value as [unknown[], unknown];
  if (!isId(id)) return null;
  if (members === null) return { id, parent: nodeParent(parent), members: null };
  if (!Array.isArray(members)) return null;
  return { id, parent: nodeParent(parent), members: nodesOf(members, budget, depth + 1) };
}

/** @param value an id, or the tuple of the parent */
function nodeParent(value: unknown): string | null {
  const id: unknown = Array.isArray(value) && Array.isArray(value[0]) ? value[0][0] : value;
  return isId(id) ? id : null;
}
