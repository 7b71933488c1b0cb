import { days, type OptionTable, type Read, readOptions, wholeNumber } from '../check-options.ts';

/** Bounds of a history. The first one that is reached evicts the oldest tasks. */
export interface RetentionOptions {
  /** Most tasks held. 1 to 10,000,000. Default 100,000. */
  readonly maxTasks?: number;
  /**
   * Days for which tasks are held after their last change arrived, by this process's clock; also parts of a day, such
   * as `1 / 4`. Older tasks that are read from storage are ignored. Up to 36,500. Default 7.
   */
  readonly taskDays?: number;
  /** Most memory of the tasks and their values, estimated, in bytes. At least 1 MiB. Default 256 MiB. */
  readonly maxBytes?: number;
  /** Most memory of values longer than 1 KiB, in bytes. Default a quarter of `maxBytes`. */
  readonly maxValueBytes?: number;
  /** Longest single value kept, in characters. Default 65,536. */
  readonly maxValueLength?: number;
  /** Most items of the feed. Default 10,000. */
  readonly maxEvents?: number;
  /** Most workers; beyond it, those silent for longest are dropped. Default 1,000. */
  readonly maxWorkers?: number;
  /** Days for which an offline worker stays listed; also parts of a day. Up to 36,500. Default 1. */
  readonly workerDays?: number;
}

/** Every bound, set; times in milliseconds. */
export interface Retention extends Required<Omit<RetentionOptions, 'taskDays' | 'workerDays'>> {
  readonly maxAgeMs: number;
  readonly workerExpiryMs: number;
}

const DAY_MS = 24 * 60 * 60_000;
const MIB = 1024 * 1024;
/** From some ten seconds to a hundred years. */
const DAYS = { least: 0.0001, most: 36_500 };

const TABLE = {
  maxTasks: wholeNumber({ least: 1, most: 10_000_000, fallback: 100_000 }),
  taskDays: days({ ...DAYS, fallback: 7 }),
  maxBytes: wholeNumber({ least: MIB, most: Number.MAX_SAFE_INTEGER, fallback: 256 * MIB }),
  maxValueBytes: wholeNumber({ least: 0, most: Number.MAX_SAFE_INTEGER, fallback: 64 * MIB }),
  maxValueLength: wholeNumber({ least: 16, most: 16 * MIB, fallback: 65_536 }),
  maxEvents: wholeNumber({ least: 1, most: 1_000_000, fallback: 10_000 }),
  maxWorkers: wholeNumber({ least: 1, most: 100_000, fallback: 1_000 }),
  workerDays: days({ ...DAYS, fallback: 1 }),
} satisfies OptionTable<RetentionOptions>;

/**
 * Sets defaults and checks bounds.
 *
 * @param caller the function whose option this is, for the message
 * @param example what to write
 * @throws TypeError that names the option that is unknown, or its bounds
 */
export function resolveRetention(
  options: unknown,
  caller: string,
  example = '{ maxTasks: 100_000 }',
): Retention {
  const words = { example, group: 'retention' };
  const { taskDays, workerDays, ...bounds } = readOptions(caller, options, TABLE, words);
  const { maxValueBytes = Math.floor(bounds.maxBytes / 4) } = options as RetentionOptions;
  return { ...bounds, maxValueBytes, maxAgeMs: taskDays * DAY_MS, workerExpiryMs: workerDays * DAY_MS };
}

/** The option `retention` of a source, which passes it on to its history. */
export function retentionOption(example: string): Read<RetentionOptions> {
  return (given = {}, { caller }) => {
    resolveRetention(given, caller, example);
    return given as RetentionOptions;
  };
}
