/** A deployment whose hints are judged at moments of a clock that only the test moves. */
import type { TaskChange, TaskChangeType } from '../../src/history/history.ts';
import { deniedHint as backendDeniedHint } from '../../src/sources/celery/backends/redis/denied-hint.ts';
import { deniedHint as brokerDeniedHint } from '../../src/sources/celery/brokers/redis/denied-hint.ts';
import type { ConnectionState } from '../../src/sources/celery/connection-state.ts';
import type { Hint } from '../../src/sources/celery/hint.ts';
import type { HintOptions } from '../../src/sources/celery/hints/facts.ts';
import { hintsFor } from '../../src/sources/celery/hints/hints-for.ts';
import { createObserver, type Observer } from '../../src/sources/celery/hints/observer.ts';
import { type ResolvedOptions, resolveOptions } from '../helpers/celery-options.ts';

/** Broker and backend on one server. */
export const OPTIONS = resolveOptions({
  broker: 'redis://u:SECRET@h/0',
  backend: 'redis://u:SECRET@h/1',
  control: false,
});
/** What a right that is missing is described as. */
export const NOPERM = { code: 'NOPERM', sentence: 'The Redis user lacks a right that this monitor needs.' };
/** A connection that has been up since the clock stood at 0. */
export const UP: ConnectionState = { up: true, asOf: 0, since: 0, reconnects: 0, problem: null };
/** One that Redis refuses what it asks for. */
export const DENIED: ConnectionState = { ...UP, up: false, since: null, problem: NOPERM };

/**
 * A deployment that is told of step by step, at moments of a clock that only `pass` moves.
 *
 * @param more what hints depend on besides, where the broker is not Redis
 */
export function deployment(resolved: ResolvedOptions = OPTIONS, more: Partial<HintOptions> = {}) {
  const options = { ...hintOptions(resolved), ...more };
  let now = 0;
  let found: readonly Hint[] = [];
  let states = { broker: UP, backend: UP };
  const observer = createObserver(() => now);
  observer.connected('broker');
  const hints = (): Hint[] => hintsFor({ options, facts: observer.facts(), found, ...states, now });
  return {
    observer,
    hints,
    codes: () => hints().map(({ code }) => code),
    hint: (code: string) => hints().find((hint) => hint.code === code),
    pass: (seconds: number) => {
      now += seconds * 1000;
    },
    find: (...hints: readonly Hint[]) => {
      found = hints;
    },
    connections: (changed: Partial<typeof states>) => {
      states = { ...states, ...changed };
    },
    beat: (processed: number, hostname = 'w1@alpha', skew = 0) =>
      observer.worker({ hostname, type: 'heartbeat', time: now + skew, processed }),
  };
}

/** What hints depend on, of a deployment on Redis. */
export function hintOptions(options: ResolvedOptions): HintOptions {
  const { broker, backend, settings, control, enableEvents, foreignBroker, foreignBackend } = options;
  return {
    control,
    enableEvents,
    foreignBroker,
    foreignBackend,
    hasBackend: backend !== null,
    brokerHint: broker === null ? undefined : (access) => brokerDeniedHint(access, settings, broker.database),
    backendHint:
      backend === null ? undefined : (access) => backendDeniedHint(access, settings, backend.database),
  };
}

let lastId = 0;

/** An event of `w1@alpha` about another task. */
export function event(observer: Observer, type: TaskChangeType, fields: Partial<TaskChange> = {}): void {
  lastId += 1;
  observer.task({ id: `id-${lastId}`, type, time: 0, origin: 'event', worker: 'w1@alpha', ...fields });
}

/** A published success of another task. */
export function result(observer: Observer, fields: Partial<TaskChange> = {}): void {
  lastId += 1;
  observer.task({ id: `id-${lastId}`, type: 'succeeded', time: 0, origin: 'result', ...fields });
}
