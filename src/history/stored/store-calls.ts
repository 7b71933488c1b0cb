/** Calls of a store: each has a deadline, and its outcome is noted for the status. */
import type { Redactor } from '../../redact.ts';
import { isRecord } from '../../values.ts';
import { settleInTime } from '../../waiting.ts';

/** Kinds of calls. The status shows the error of the latest call of each kind. */
export type CallKind = 'open' | 'lease' | 'write' | 'load' | 'copy' | 'upkeep' | 'read';

/** The error of a call. */
export interface StoreProblem {
  /** The kind of the error, such as `schema_newer` or `unreachable`; `null`: it has none. */
  readonly code: string | null;
  /** One sentence without secrets. */
  readonly sentence: string;
  /** What to do about it; `null`: unknown. */
  readonly remedy: string | null;
}

/** Calls of one store. */
export interface StoreCalls {
  /**
   * Waits for a call.
   *
   * @throws what it rejects with, or an error after too long a time
   */
  ask<Result>(kind: CallKind, call: () => Promise<Result>, withinMs?: number): Promise<Result>;
  /** Notes the outcome of a call that was made elsewhere. @param error `null`: it succeeded */
  note(kind: CallKind, error: unknown): void;
  /** The present problem; `null`: the last call of each kind succeeded. */
  problem(): StoreProblem | null;
  /** Called when the store answers again. */
  onAnswer(listener: () => void): void;
}

/** Longest wait for an answer, unless the caller says otherwise, in milliseconds. */
const DEADLINE_MS = 20_000;
/** Failed calls are repeated within 30 seconds, unless they are no longer needed. In milliseconds. */
const REMEMBERED_MS = 90_000;
/** The order in which problems are shown: the first is the cause of the others. */
const KINDS: readonly CallKind[] = ['open', 'lease', 'write', 'load', 'copy', 'upkeep', 'read'];

/** @param redactor removes secrets from the messages of drivers */
export function createStoreCalls(redactor: Redactor | null): StoreCalls {
  const problems = new Map<CallKind, StoreProblem & { readonly until: number }>();
  const listeners: (() => void)[] = [];

  function note(kind: CallKind, error: unknown): void {
    if (error !== null) {
      problems.set(kind, { ...problemOf(error, redactor), until: performance.now() + REMEMBERED_MS });
      return;
    }
    const isBack = problems.delete(kind);
    // A client may never repeat its request.
    problems.delete('read');
    if (isBack) for (const listener of listeners) listener();
  }

  return {
    async ask(kind, call, withinMs = DEADLINE_MS) {
      try {
        const result = await settleInTime(call(), { ms: withinMs }, () => lateAfter(withinMs));
        note(kind, null);
        return result;
      } catch (error) {
        note(kind, error);
        throw error;
      }
    },
    note,
    problem() {
      const now = performance.now();
      for (const [kind, { until }] of problems) if (until < now) problems.delete(kind);
      const kind = KINDS.find((one) => problems.has(one));
      return kind === undefined ? null : (problems.get(kind) ?? null);
    },
    onAnswer: (listener) => void listeners.push(listener),
  };
}

function lateAfter(ms: number): Error {
  return Object.assign(new Error(`The database did not answer within ${ms / 1_000} s.`), {
    code: 'timeout',
    remedy: 'Check the load and the locks of the database.',
  });
}

/** Longest sentence of a problem, in characters. */
const LONGEST = 300;

/** The message of an error of a driver or a store, without secrets. */
function problemOf(error: unknown, redactor: Redactor | null): StoreProblem {
  const known = isRecord(error) ? error : {};
  const code = typeof known.code === 'string' && known.code !== '' ? known.code : null;
  // The error of several addresses that were tried has no message of its own.
  const first = Array.isArray(known.errors) ? (known.errors[0] as unknown) : undefined;
  const message = [error, first].map(messageOf).find((text) => text !== '');
  const sentence = (message ?? code ?? 'The database failed.').slice(0, LONGEST);
  const remedy = typeof known.remedy === 'string' ? known.remedy : null;
  const bare = sentence.replaceAll(/:\/\/[^\s/@]*@/g, '://');
  return { code, sentence: redactor === null ? bare : redactor.text(bare, 'detail'), remedy };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.trim() : '';
}

/**
 * The clock of the database, as far as this instance knows it. It decides who holds the lease and on which day a task
 * is first written, so instances agree even if their own clocks are wrong or jump. Times in milliseconds.
 */
export interface StoreClock {
  /** Time that only increases, whatever happens to the clock of this instance. Its origin has no meaning. */
  elapsed(): number;
  /** The clock of the database, since 1970; that of this instance as long as the database has not answered. */
  now(): number;
  /** Records what the clock of the database showed. @param askedAt {@link StoreClock.elapsed} before the question */
  learn(databaseNow: number, askedAt: number): void;
  /** A moment of {@link StoreClock.elapsed}, by the clock of the database. */
  databaseAt(elapsed: number): number;
  /** A moment of the clock of the database, as {@link StoreClock.elapsed}. */
  elapsedAt(database: number): number;
  /** By how much the clock of the database is ahead of that of this instance. */
  ahead(): number;
}

/**
 * @param own the clock of this instance, since 1970
 * @param monotonic Default `performance.now`
 */
export function createStoreClock(
  own: () => number,
  monotonic: () => number = performance.now.bind(performance),
): StoreClock {
  let offset: number | null = null;
  const offsetNow = (): number => offset ?? own() - monotonic();
  return {
    elapsed: () => Math.floor(monotonic()),
    now: () => monotonic() + offsetNow(),
    learn(databaseNow, askedAt) {
      // The answer was made at some time between the question and now.
      offset = databaseNow - (askedAt + monotonic()) / 2;
    },
    databaseAt: (elapsed) => elapsed + offsetNow(),
    elapsedAt: (database) => database - offsetNow(),
    ahead: () => monotonic() + offsetNow() - own(),
  };
}
