import { MonitorError } from '../../src/errors.ts';
import { createReader, type OnLeave, type ReadTask } from '../../src/read.ts';
import type { Awaitable, ReadContext } from '../../src/source.ts';

const PART = { name: 'fake' };
export const OTHER_PART = { name: 'other' };

/** A client that leaves when told to. */
export function visitor(): { readonly onLeave: OnLeave; leave(): void; listening(): number } {
  const listeners = new Set<() => void>();
  return {
    onLeave(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    leave() {
      for (const listener of listeners) listener();
    },
    listening: () => listeners.size,
  };
}

export function setUp(timeoutMs = 1_000, concurrency = 64) {
  const reports: { error: unknown; code: string | null }[] = [];
  const reader = createReader({
    timeoutMs,
    concurrency,
    perPart: concurrency,
    report: (error, { code }) => reports.push({ error, code }),
  });
  return { reader, reports };
}

export function taskOf<T>(read: (context: ReadContext) => Awaitable<T>, key = ''): ReadTask<T, T> {
  return { part: PART, call: 'listTasks', key, read, map: (raw) => raw };
}

/** What a read ends with, thrown at once or later. */
export async function outcomeOf(start: () => unknown): Promise<unknown> {
  try {
    return await start();
  } catch (error) {
    return error;
  }
}

/** The code that a read ends with. */
export async function codeOf(start: () => unknown): Promise<unknown> {
  const outcome = await outcomeOf(start);
  return outcome instanceof MonitorError ? outcome.code : outcome;
}

/** A promise that is settled from outside. */
export function deferred<T>() {
  let resolve: (value: T) => void = () => {};
  let reject: (error: unknown) => void = () => {};
  const promise = new Promise<T>((onValue, onError) => {
    resolve = onValue;
    reject = onError;
  });
  return { promise, resolve, reject };
}

/** What looks like a promise and is none. */
export function thenable(then: (resolve: (value: number) => void) => void): PromiseLike<number> {
  return Object.defineProperty({}, 'then', { value: then }) as PromiseLike<number>;
}
