import { shareCalls } from '../../../single-flight.ts';
import { isRecord } from '../../../values.ts';
import { waitFor } from '../../../waiting.ts';
import type { CelerySettings } from '../settings.ts';
import { isTimeZone } from '../zones.ts';
import type { Configuration } from './redbeat-settings.ts';
import { type StaticEntries, type StaticEntry, staticEntries } from './static-entry.ts';

/** Asks the running workers for their configuration, by worker; `null` when they may not be asked. */
export type AskConf = () => Promise<ReadonlyMap<string, unknown> | null>;

/** The `beat_schedule` of a deployment. */
export interface StaticSchedule {
  /**
   * Asks the workers, unless their last answers are fresh. Never rejects. Resolves after about a second at the
   * latest; later answers are known at the next call.
   */
  refresh(): Promise<void>;
  /** By id, which is unique. Equal entries of several configurations are one. */
  entries(): ReadonlyMap<string, StaticEntry>;
  /** The number of entries that were not understood. */
  unreadable(): number;
  /** The zone of the app; `null` if unknown, or there are several. Default UTC, as in Celery. */
  timezone(): string | null;
  /** The host's settings, then the settings of workers about beat. */
  configurations(): readonly Configuration[];
}

/** How long answers count as fresh. */
const FRESH_MS = 60_000;
/** How long to wait before asking again after no worker has answered. */
const RETRY_MS = 10_000;
/** How long the last answer of a worker that no longer answers is used. */
const FORGET_MS = 600_000;
/** How long to wait for the first answers. */
const WAIT_MS = 1500;

/** The answer of a worker. */
interface WorkerConf {
  /** When it arrived, in milliseconds since 1970. */
  readonly at: number;
  readonly entries: StaticEntries;
  /** Its settings about beat. */
  readonly configuration: Configuration;
  readonly timezone: string | null;
}

interface State {
  /** The entries of the host's settings. */
  readonly own: StaticEntries;
  /** By hostname. Workers with the same configuration share one object. */
  readonly workers: Map<string, WorkerConf>;
  entries: ReadonlyMap<string, StaticEntry>;
  askedAt: number;
  /** Whether any worker answered the last time. */
  answered: boolean;
}

/**
 * The entries of `settings.beat_schedule` and those in the configurations of workers. Beat itself stores its
 * schedule in a local file, which cannot be read. The configuration of a worker shows the entries of beat if
 * both run the same app; it does not prove that beat runs.
 *
 * @param now milliseconds since 1970
 */
export function createStaticSchedule(
  settings: CelerySettings,
  askConf: AskConf,
  now: () => number = Date.now,
): StaticSchedule {
  const own = staticEntries(settings.beat_schedule, zoneOf(settings));
  const state: State = {
    own,
    workers: new Map(),
    entries: united([own], new Map()),
    askedAt: Number.NEGATIVE_INFINITY,
    answered: false,
  };
  const ask = shareCalls(() => askWorkers(state, askConf, now));
  return {
    async refresh() {
      if (now() - state.askedAt < (state.answered ? FRESH_MS : RETRY_MS)) return;
      const asking = ask();
      if (!state.answered) await waitFor(asking, { ms: WAIT_MS });
    },
    entries: () => state.entries,
    unreadable: () => Math.max(own.unreadable, ...distinct(state).map(({ entries }) => entries.unreadable)),
    timezone() {
      if (settings.timezone !== undefined || settings.enable_utc === false) return zoneOf(settings);
      const zones = new Set(distinct(state).map(({ timezone }) => timezone));
      const [zone = 'UTC'] = zones;
      return zones.size > 1 ? null : zone;
    },
    configurations: () => [settings, ...distinct(state).map(({ configuration }) => configuration)],
  };
}

async function askWorkers(state: State, askConf: AskConf, now: () => number): Promise<void> {
  let replies: ReadonlyMap<string, unknown> | null = null;
  try {
    replies = await askConf();
    take(state, replies ?? new Map(), now());
  } catch {
    // Treated like no answer.
  }
  state.askedAt = now();
  state.answered = replies !== null && replies.size > 0;
}

function take(state: State, replies: ReadonlyMap<string, unknown>, at: number): void {
  const { own, workers } = state;
  const byConfiguration = new Map<string, WorkerConf>();
  for (const [worker, configuration] of replies) {
    if (!isRecord(configuration)) continue;
    const key = keyOf(configuration);
    const conf = byConfiguration.get(key) ?? workerConf(configuration, at);
    byConfiguration.set(key, conf);
    workers.set(worker, conf);
  }
  for (const [worker, conf] of workers) if (conf.at < at - FORGET_MS) workers.delete(worker);
  state.entries = united([own, ...distinct(state).map(({ entries }) => entries)], state.entries);
}

function distinct({ workers }: State): WorkerConf[] {
  return [...new Set(workers.values())];
}

function workerConf(configuration: Configuration, at: number): WorkerConf {
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

/** Workers of one app have the same key. */
function keyOf({ beat_schedule, timezone, enable_utc }: Configuration): string {
  return JSON.stringify([beat_schedule, timezone, enable_utc]);
}

/** Without a zone, Celery uses UTC or, with `enable_utc = False`, the zone of beat's machine. */
function zoneOf({ timezone, enable_utc }: Configuration): string | null {
  if (timezone === undefined || timezone === null || timezone === '') {
    return enable_utc === false ? null : 'UTC';
  }
  return isTimeZone(timezone) ? timezone : null;
}

/** Keeps the objects of unchanged entries. */
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
