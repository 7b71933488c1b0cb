import { readInteger, refuseUnknownKeys } from '../check-options.ts';

/** Bounds of a history. The first one that is reached evicts the oldest tasks. */
export interface RetentionOptions {
  /** Most tasks held. 1 to 10,000,000. Default 100,000. */
  readonly maxTasks?: number;
  /**
   * Longest time since the last change of a task arrived, in milliseconds, by this process's clock. Older tasks that
   * are read from storage are ignored. Default 7 days.
   */
  readonly maxAgeMs?: number;
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
  /** How long an offline worker stays listed, in milliseconds. Default 24 hours. */
  readonly workerExpiryMs?: number;
}

/** Every bound, set. */
export type Retention = Required<RetentionOptions>;

const DAY_MS = 24 * 60 * 60_000;
const MIB = 1024 * 1024;

/** Lowest, highest and default value of each option. */
const BOUNDS: Readonly<Record<keyof RetentionOptions, readonly [number, number, number]>> = {
  maxTasks: [1, 10_000_000, 100_000],
  maxAgeMs: [1_000, Number.MAX_SAFE_INTEGER, 7 * DAY_MS],
  maxBytes: [MIB, Number.MAX_SAFE_INTEGER, 256 * MIB],
  maxValueBytes: [0, Number.MAX_SAFE_INTEGER, 64 * MIB],
  maxValueLength: [16, 16 * MIB, 65_536],
  maxEvents: [1, 1_000_000, 10_000],
  maxWorkers: [1, 100_000, 1_000],
  workerExpiryMs: [1_000, Number.MAX_SAFE_INTEGER, DAY_MS],
};

const RETENTION_KEYS = Object.keys(BOUNDS) as readonly (keyof RetentionOptions)[];

/**
 * Sets defaults and checks bounds.
 *
 * @param caller the function whose option this is, for the message
 * @throws TypeError that names the option that is unknown, or its bounds
 */
export function resolveRetention(options: RetentionOptions, caller: string): Retention {
  refuseUnknownKeys(caller, options, BOUNDS, 'retention.');
  const retention = {} as Record<keyof RetentionOptions, number>;
  for (const key of RETENTION_KEYS) {
    const [least, most, fallback] = BOUNDS[key];
    retention[key] = readInteger(caller, `retention.${key}`, options[key], { least, most, fallback });
  }
  if (options.maxValueBytes === undefined) retention.maxValueBytes = Math.floor(retention.maxBytes / 4);
  return retention;
}
