import type { RetentionOptions } from '../../history/retention.ts';
import type { Schedule } from '../../model.ts';
import type { Awaitable } from '../../source.ts';
import type { MemorySourcesOptions } from './memory-sources.ts';

/** {@link MemorySourcesOptions}, every one set. */
export interface ResolvedMemoryOptions {
  readonly name: string;
  readonly retention: RetentionOptions;
  readonly schedules: (() => Awaitable<readonly Schedule[]>) | null;
  readonly onError: (error: TypeError) => void;
  readonly now: () => number;
}

const KEYS: Readonly<Record<keyof MemorySourcesOptions, true>> = {
  name: true,
  retention: true,
  schedules: true,
  onError: true,
  now: true,
};

/** @throws TypeError that says what to write */
export function resolveMemoryOptions(options: MemorySourcesOptions): ResolvedMemoryOptions {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new TypeError('memorySources(options): options must be an object, such as { name: "jobs" }.');
  }
  refuseUnknown(options);
  const { name = 'memory', retention = {}, schedules = null, now = Date.now } = options;
  if (typeof name !== 'string' || !/^[A-Za-z0-9_-]{1,64}$/.test(name)) {
    throw new TypeError('memorySources({ name }): write 1 to 64 of A-Z a-z 0-9 _ -, such as "memory".');
  }
  if (typeof retention !== 'object' || retention === null) {
    throw new TypeError('memorySources({ retention }): write an object, such as { maxTasks: 50000 }.');
  }
  if (typeof now !== 'function')
    throw new TypeError('memorySources({ now }): write a function, such as Date.now.');
  if (options.onError !== undefined && typeof options.onError !== 'function') {
    throw new TypeError('memorySources({ onError }): write a function that takes an error.');
  }
  if (schedules !== null && typeof schedules !== 'function' && !Array.isArray(schedules)) {
    throw new TypeError(
      'memorySources({ schedules }): write an array of schedules or a function that returns one.',
    );
  }
  return {
    name,
    retention,
    schedules: typeof schedules === 'function' ? schedules : schedules === null ? null : () => schedules,
    onError: options.onError ?? warnOnce(),
    now,
  };
}

function refuseUnknown(given: object): void {
  const unknown = Object.keys(given).find((key) => !Object.hasOwn(KEYS, key));
  if (unknown === undefined) return;
  throw new TypeError(`memorySources: unknown option "${unknown}". Known: ${Object.keys(KEYS).join(', ')}.`);
}

function warnOnce(): (error: TypeError) => void {
  let warned = false;
  return (error) => {
    if (warned) return;
    warned = true;
    process.emitWarning(`${error.message} (further records like it are only counted)`, {
      type: 'TaskMonitorWarning',
      code: 'TASK_MONITOR_RECORD',
    });
  };
}
