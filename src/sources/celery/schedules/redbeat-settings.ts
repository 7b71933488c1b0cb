/** Reads the settings of redbeat (https://redbeat.readthedocs.io/en/latest/config.html). */
import { filledString } from '../../../values.ts';

/** A Celery configuration: the host's settings, or a worker's answer to `conf`. */
export type Configuration = Readonly<Record<string, unknown>>;

/** The keys that redbeat writes. */
export type RedbeatKeys = ReturnType<typeof redbeatKeys>;

/** Celery's `beat_max_loop_interval` (celery/beat.py), which redbeat multiplies by five for its lock. */
const PAUSE = 300;

/** The keys, from the host's settings: workers hide names of keys in their answers. */
export function redbeatKeys(settings: Configuration) {
  const prefix = filledString(settings.redbeat_key_prefix) ?? 'redbeat:';
  return {
    prefix /** Sorted set of the keys of entries by the time that they are due. */,
    schedule: `${prefix}:schedule` /** Possible names of the lock of the running beat; none if locking is off. */,
    locks: locksOf(settings, prefix),
  };
}

function locksOf(settings: Configuration, prefix: string): string[] {
  if (!Object.hasOwn(settings, 'redbeat_lock_key')) return [`${prefix}:lock`];
  const name = filledString(settings.redbeat_lock_key);
  if (name === null) return [];
  // redbeat up to 2.2 uses the name without the prefix.
  return name.startsWith(prefix) ? [name] : [prefix + name, name];
}

/** @param configurations the configurations of the app; earlier ones take precedence */
export function redbeatTiming(configurations: readonly Configuration[]) {
  const teller = configurations.find(namesRedbeat);
  const pause = longestPause(configurations);
  const timeout = positive(first(configurations, 'redbeat_lock_timeout'));
  // A configuration that mentions redbeat omits settings with their default value.
  const usual = teller === undefined && pause === null ? null : (pause ?? PAUSE) * 5;
  return {
    /** Longest pause between two looks at the schedule. Default 300. */
    pause: pause ?? PAUSE /** Time-out of the lock, set at each look; `null` if unknown. */,
    lockTimeout: timeout ?? usual,
  };
}

/** `beat_max_loop_interval` of the app, in seconds; `null` if it is not set. */
export function longestPause(configurations: readonly Configuration[]): number | null {
  return positive(first(configurations, 'beat_max_loop_interval'));
}

/** Whether a configuration uses redbeat. */
export function namesRedbeat(configuration: Configuration): boolean {
  const scheduler = configuration.beat_scheduler;
  if (typeof scheduler === 'string' && scheduler.toLowerCase().includes('redbeat')) return true;
  return Object.keys(configuration).some((name) => name.toLowerCase().startsWith('redbeat_'));
}

/** Whether a configuration uses the scheduler of django-celery-beat. */
export function namesDjangoBeat({ beat_scheduler: scheduler }: Configuration): boolean {
  return typeof scheduler === 'string' && /^django$|^django_celery_beat\b/.test(scheduler);
}

/** The scheduler of a configuration, if its entries are stored in a place that is not read. */
export function foreignScheduler({ beat_scheduler: scheduler }: Configuration): string | null {
  if (typeof scheduler !== 'string' || /redbeat|^celery\.beat\b/i.test(scheduler)) return null;
  return scheduler.slice(0, 200) || null;
}

function first(configurations: readonly Configuration[], name: string): unknown {
  for (const configuration of configurations) {
    const value = configuration[name];
    if (value !== undefined && value !== null) return value;
  }
  return undefined;
}

function positive(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : null;
}
