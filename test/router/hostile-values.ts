/** What hostile sources throw and return. */

import { type MonitorErrorCode, STATUS_OF } from '../../src/errors.ts';
import { MonitorError, type MonitorSources } from '../../src/index.ts';
import { createShop } from './shop-sources.ts';

/** Throws whatever is done with it. */
export const HOSTILE: unknown = new Proxy(function hostile() {}, {
  get: () => {
    throw new Error('secret');
  },
  has: () => {
    throw new Error('secret');
  },
  ownKeys: () => {
    throw new Error('secret');
  },
  getPrototypeOf: () => {
    throw new Error('secret');
  },
  getOwnPropertyDescriptor: () => {
    throw new Error('secret');
  },
  apply: () => {
    throw new Error('secret');
  },
});

export const THROWN: readonly unknown[] = [
  new Error('secret redis://:secret@db'),
  new MonitorError('forbidden', 'secret'),
  'secret',
  undefined,
  null,
  0,
  Symbol('secret'),
  {
    get message() {
      throw new Error('secret');
    },
  },
  Object.create(null),
  HOSTILE,
];

/** Never what any method returns. */
export const WRONG: readonly unknown[] = [
  undefined,
  5,
  'text',
  true,
  10n,
  Symbol('a'),
  () => 1,
  {},
  new Map(),
  HOSTILE,
  { tasks: HOSTILE, events: HOSTILE, ok: HOSTILE, rootId: HOSTILE },
  {
    get tasks() {
      throw new Error('secret');
    },
    get ok() {
      throw new Error('secret');
    },
  },
  { tasks: {}, next: null, total: 0, rootId: 5, ok: 'yes', events: 5 },
  { tasks: [], next: 5, total: 'many', rootId: 'a', relations: 5, events: [], cursor: 5, gap: 'no', ok: 1 },
  // Last, for a list of which nothing is left is an answer that is remembered.
  [[]],
  [HOSTILE],
];

/** The shop's sources with one method replaced. */
export function sourcesWith(
  part: string,
  method: string,
  act: (...given: unknown[]) => unknown,
): MonitorSources {
  const { sources } = createShop();
  const parts: Record<string, object> = sources;
  return { ...sources, [part]: { ...parts[part], [method]: act } };
}

/** Each method of a source, and a route that asks it. */
export const METHODS = [
  ['tasks', 'listTasks', '/api/tasks/'],
  ['tasks', 'getTask', '/api/tasks/task-0001/'],
  ['tasks', 'getTaskTree', '/api/tasks/task-0001/relations/'],
  ['tasks', 'getTaskTree', '/api/tasks/task-0001/graph/'],
  ['tasks', 'getTaskTree', '/api/tasks/task-0001/graph/updates/'],
  ['tasks', 'getTaskStats', '/api/tasks/?stats=5'],
  ['workers', 'listWorkers', '/api/workers/'],
  ['events', 'listEvents', '/api/events/latest/'],
  ['schedules', 'listSchedules', '/api/beat/schedules/'],
  ['health', 'checkBroker', '/healthcheck?checks=broker'],
  ['health', 'checkBackend', '/healthcheck?checks=backend'],
  ['health', 'checkWorkers', '/healthcheck?checks=workers'],
  ['components', 'listComponents', '/api/components/'],
  ['history', 'getHistoryStats', '/api/components/'],
] as const;

/** What a route answers when the method that it asks fails: the status, and the code of a problem if it is one. */
export function statusFor(
  [part, , path]: (typeof METHODS)[number],
  code: MonitorErrorCode,
): { readonly status: number; readonly code?: MonitorErrorCode } {
  // Components are shown with what is known of them, and the checks are themselves the answer.
  if (path === '/api/components/') return { status: 200 };
  return part === 'health' ? { status: 503 } : { status: STATUS_OF[code], code };
}
