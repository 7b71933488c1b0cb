import {
  type KeysOf,
  readFunction,
  readSourceName,
  refuseUnknownKeys,
  wrongOption,
} from '../../check-options.ts';
import { type RetentionOptions, resolveRetention } from '../../history/retention.ts';
import type { HistoryStore, StoreEngine } from '../../history/store.ts';
import { readSourceStore } from '../../history/store-parts.ts';
import type { Schedule } from '../../model.ts';
import {
  createSourceRedactor,
  type RedactFunction,
  type RedactOptions,
  type Redactor,
} from '../../redact.ts';
import type { Awaitable } from '../../source.ts';
import { isRecord } from '../../values.ts';

const CALLER = 'memorySources';

/** Options of `memorySources`. */
export interface MemorySourcesOptions {
  /** Name of the source in answers. 1 to 64 of `A-Z a-z 0-9 _ -`. Default `memory`. */
  readonly name?: string;
  /** What is kept; see each option for its default. */
  readonly retention?: RetentionOptions;
  /** Periodic schedules, or a function that reads them. Default: beat is not enabled. */
  readonly schedules?: readonly Schedule[] | (() => Awaitable<readonly Schedule[]>);
  /**
   * Which values are secrets, as in `createMonitorRouter({ redact })`: an object extends the built-in rules, a
   * function replaces them. Each text is redacted once, before it is first shown or searched; the router then
   * applies only its own `redact`. `false`: texts are kept as they are, for the router to redact. Default: the
   * built-in rules.
   */
  readonly redact?: RedactOptions | RedactFunction | false;
  /**
   * A database that keeps the history: `sqliteStore(path)` of `express-task-monitor/sqlite`, or
   * `postgresStore(client)` of `express-task-monitor/postgres`. It survives restarts, and all instances show the
   * tasks of all. Default: none; the history ends with the process.
   */
  readonly store?: HistoryStore;
  /** Called with each invalid record. Default: the first one causes a process warning. */
  readonly onError?: (error: TypeError) => void;
  /** Clock, milliseconds since 1970. Default `Date.now`. */
  readonly now?: () => number;
}

/** {@link MemorySourcesOptions}, every one set. */
export interface ResolvedMemoryOptions {
  readonly name: string;
  readonly retention: RetentionOptions;
  readonly schedules: (() => Awaitable<readonly Schedule[]>) | null;
  /** `null`: texts are not redacted here. */
  readonly redactor: Redactor | null;
  /** `null`: the history ends with the process. */
  readonly store: StoreEngine | null;
  readonly onError: (error: TypeError) => void;
  readonly now: () => number;
}

const KEYS: KeysOf<MemorySourcesOptions> = {
  name: true,
  retention: true,
  schedules: true,
  redact: true,
  store: true,
  onError: true,
  now: true,
};

/** @throws TypeError that says what to write */
export function resolveMemoryOptions(given: unknown): ResolvedMemoryOptions {
  if (!isRecord(given)) throw wrongOption(CALLER, 'options', "an object such as { name: 'jobs' }", given);
  refuseUnknownKeys(CALLER, given, KEYS);
  const options = given as MemorySourcesOptions;
  const { retention = {}, schedules } = options;
  if (!isRecord(retention)) {
    throw wrongOption(CALLER, 'retention', 'an object such as { maxTasks: 50_000 }', retention);
  }
  resolveRetention(retention, CALLER);
  return {
    name: readSourceName(CALLER, 'name', options.name, 'memory'),
    retention,
    schedules: readSchedules(schedules),
    redactor: createSourceRedactor(options.redact, CALLER),
    store: readSourceStore(CALLER, options),
    onError: readFunction(CALLER, 'onError', options.onError, '(error) => log(error)') ?? warnOnce(),
    now: readFunction(CALLER, 'now', options.now, 'Date.now') ?? Date.now,
  };
}

function readSchedules(schedules: MemorySourcesOptions['schedules']): ResolvedMemoryOptions['schedules'] {
  if (schedules === undefined || schedules === null) return null;
  if (typeof schedules === 'function') return schedules;
  if (Array.isArray(schedules)) return () => schedules;
  throw wrongOption(CALLER, 'schedules', 'an array of schedules or a function that returns one', schedules);
}

function warnOnce(): (error: TypeError) => void {
  let warned = false;
  return (error) => {
    if (warned) return;
    warned = true;
    process.emitWarning(`${error.message} (further records like it are only counted)`, {
      type: 'ExpressTaskMonitorWarning',
      code: 'EXPRESS_TASK_MONITOR_RECORD',
    });
  };
}
