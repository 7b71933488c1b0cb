/** What hostile sources throw and return. */
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
export function sourcesWith(part: string, method: string, act: () => unknown): MonitorSources {
  const { sources } = createShop();
  const parts: Record<string, object> = sources;
  return { ...sources, [part]: { ...parts[part], [method]: act } };
}
