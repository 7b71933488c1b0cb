import { isRecord } from '../../../check-options.ts';
import type { CelerySettings } from '../settings.ts';
import { isTimeZone } from '../zones.ts';
import type { Configuration } from './redbeat-settings.ts';
import { type StaticEntries, type StaticEntry, staticEntries } from './static-entry.ts';

/** What the running workers answer to `conf`, by worker; `null` when they may not be asked. */
export type AskConf = () => Promise<ReadonlyMap<string, unknown> | null>;

/** The `beat_schedule` of a deployment. */
export interface StaticSchedule {
  /**
   * Asks the workers, unless what they said is new. Never rejects. Resolves at the latest after a second
   * or so; what comes later is known at the next reading.
   */
  refresh(): Promise<void>;
  /** By id, unique; entries that are alike in several configurations are one. */
  entries(): ReadonlyMap<string, StaticEntry>;
  unreadable(): number;
  /** The zone of the app; `null` when it is not known, or there are several. Default UTC, as in Celery. */
  timezone(): string | null;
  /** The host's settings, and what the workers say of beat. */
  configurations(): readonly Configuration[];
}

/**
 * All in milliseconds: how old an answer may be, when it is asked for again where there was none, for how
 * long the word of a silent worker counts, and how long to wait.
 */
const FRESH = 60_000;
const RETRY = 10_000;
const FORGET = 600_000;
const WAIT = 1500;

/** What one worker said. */
interface Said {
  readonly at: number;
  readonly entries: StaticEntries;
  readonly configuration: Configuration;
  readonly timezone: string | null;
}

/**
 * The entries of `settings.beat_schedule`, and those that workers have configured beside them. The static
 * schedule itself lies in a file on beat's disk; a worker's configuration shows what beat has been given
 * when both run the same app, and is no proof that beat runs.
 *
 * @param now milliseconds since 1970
 */
export function createStaticSchedule(
  settings: CelerySettings,
  askConf: AskConf,
  now: () => number = Date.now,
): StaticSchedule {
  const own = staticEntries(settings.beat_schedule, zoneOf(settings));
  const workers = new Map<string, Said>();
  let known = united([own], new Map());
  let askedAt = Number.NEGATIVE_INFINITY;
  let answered = false;
  let asking: Promise<void> | null = null;

  async function ask(): Promise<void> {
    let replies: ReadonlyMap<string, unknown> | null = null;
    try {
      replies = await askConf();
      take(replies ?? new Map(), now());
    } catch {
      // As good as no answer.
    }
    askedAt = now();
    answered = replies !== null && replies.size > 0;
  }

  function take(replies: ReadonlyMap<string, unknown>, at: number): void {
    const alike = new Map<string, Said>();
    for (const [worker, configuration] of replies) {
      if (!isRecord(configuration)) continue;
      const key = keyOf(configuration);
      const said = alike.get(key) ?? saidBy(configuration, at);
      alike.set(key, said);
      workers.set(worker, said);
    }
    for (const [worker, said] of workers) if (said.at < at - FORGET) workers.delete(worker);
    known = united([own, ...distinct().map(({ entries }) => entries)], known);
  }

  function distinct(): Said[] {
    return [...new Set(workers.values())];
  }

  return {
    async refresh() {
      if (now() - askedAt < (answered ? FRESH : RETRY)) return;
      asking ??= ask().finally(() => {
        asking = null;
      });
      if (answered) return;
      await Promise.race([asking, new Promise((resolve) => setTimeout(resolve, WAIT).unref())]);
    },
    entries: () => known,
    unreadable: () => Math.max(own.unreadable, ...distinct().map(({ entries }) => entries.unreadable)),
    timezone() {
      if (settings.timezone !== undefined || settings.enable_utc === false) return zoneOf(settings);
      const zones = new Set(distinct().map(({ timezone }) => timezone));
      const [zone = 'UTC'] = zones;
      return zones.size > 1 ? null : zone;
    },
    configurations: () => [settings, ...distinct().map(({ configuration }) => configuration)],
  };
}

function saidBy(configuration: Configuration, at: number): Said {
  const timezone = zoneOf(configuration);
  const ofBeat = Object.entries(configuration).filter(
    ([name]) => /^(?:red)?beat_/i.test(name) && name !== 'beat_schedule',
  );
  return {
    at,
    entries: staticEntries(configuration.beat_schedule, timezone),
    configuration: Object.fromEntries(ofBeat),
    timezone,
  };
}

/** Workers of one app say the same. */
function keyOf({ beat_schedule, timezone, enable_utc }: Configuration): string {
  return JSON.stringify([beat_schedule, timezone, enable_utc]);
}

/** Without a zone, Celery reads schedules in UTC, or in that of beat's machine. */
function zoneOf({ timezone, enable_utc }: Configuration): string | null {
  if (timezone === undefined || timezone === null || timezone === '') {
    return enable_utc === false ? null : 'UTC';
  }
  return isTimeZone(timezone) ? timezone : null;
}

/** An entry that is as before stays the same object. */
function united(
  all: readonly StaticEntries[],
  before: ReadonlyMap<string, StaticEntry>,
): ReadonlyMap<string, StaticEntry> {
  const kept = new Map([...before.values()].map((entry) => [printOf(entry), entry]));
  const byId = new Map<string, StaticEntry>();
  const seen = new Set<string>();
  for (const entry of all.flatMap(({ entries }) => entries)) {
    const print = printOf(entry);
    if (seen.has(print)) continue;
    seen.add(print);
    let id = entry.name;
    for (let count = 2; byId.has(id); count += 1) id = `${entry.name} (${count})`;
    byId.set(id, kept.get(print) ?? entry);
  }
  return byId;
}

function printOf({ rule, ...rest }: StaticEntry): string {
  return JSON.stringify([rule.text, rule.relative, rest]);
}
