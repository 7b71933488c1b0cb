import { shareCalls } from '../../../single-flight.ts';
import { textOf } from '../../../text.ts';
import { filledString, isRecord } from '../../../values.ts';
import { waitFor } from '../../../waiting.ts';
import { pythonText, pythonTupleText } from '../protocol/python-repr.ts';
import type { CelerySettings, Configuration } from '../settings.ts';
import { isTimeZone } from '../zones.ts';
import type { ScheduleEntry } from './entry.ts';
import { readSchedule } from './schedule-text.ts';

/** Asks the running workers for their configuration, by worker; `null` when they may not be asked. */
export type AskConf = () => Promise<ReadonlyMap<string, unknown> | null>;

/** The `beat_schedule` of a deployment. */
export type StaticSchedule = ReturnType<typeof createStaticSchedule>;

/** Most entries read of one configuration. */
const MOST_ENTRIES = 5000;
/** Longest text kept of arguments, in characters. */
const LONGEST = 65_536;
/** How long answers count as fresh. */
const FRESH_MS = 60_000;
/** How long to wait before asking again after no worker has answered. */
const RETRY_MS = 10_000;
/** How long the last answer of a worker that no longer answers is used. */
const FORGET_MS = 600_000;
/** How long to wait for the first answers. */
const WAIT_MS = 1500;

/** A `beat_schedule`. */
interface StaticEntries {
  readonly entries: readonly ScheduleEntry[];
  /** Entries that cannot be read. */
  readonly unreadable: number;
}

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
  entries: readonly ScheduleEntry[];
  askedAt: number;
  /** Whether any worker answered the last time. */
  answered: boolean;
}

/**
 * The entries of `settings.beat_schedule` and those in the configurations of workers. Beat itself stores its
 * schedule in a local file, which cannot be read. The configuration of a worker shows the entries of beat if
 * both run the same app; it does not prove that beat runs.
 */
export function createStaticSchedule(settings: CelerySettings, askConf: AskConf) {
  const own = staticEntries(settings.beat_schedule, zoneOf(settings));
  const state: State = {
    own,
    workers: new Map(),
    entries: own.entries,
    askedAt: Number.NEGATIVE_INFINITY,
    answered: false,
  };
  const ask = shareCalls(() => askWorkers(state, askConf));
  return {
    /**
     * Asks the workers, unless their last answers are fresh. Never rejects. Resolves after about a second at the
     * latest; later answers are known at the next call.
     */
    async refresh() {
      if (Date.now() - state.askedAt < (state.answered ? FRESH_MS : RETRY_MS)) return;
      const asking = ask();
      if (!state.answered) await waitFor(asking, { ms: WAIT_MS });
    },
    /** Equal entries of several configurations are one. */
    entries: () => state.entries,
    /** The number of entries that were not understood. */
    unreadable: () => Math.max(own.unreadable, ...distinct(state).map(({ entries }) => entries.unreadable)),
    /** The zone of the app; `null` if unknown, or there are several. Default UTC, as in Celery. */
    timezone() {
      if (settings.timezone !== undefined || settings.enable_utc === false) return zoneOf(settings);
      const zones = new Set(distinct(state).map(({ timezone }) => timezone));
      const [zone = 'UTC'] = zones;
      return zones.size > 1 ? null : zone;
    },
    /** The host's settings, then the settings of workers about beat. */
    configurations: () => [settings, ...distinct(state).map(({ configuration }) => configuration)],
  };
}

async function askWorkers(state: State, askConf: AskConf): Promise<void> {
  let replies: ReadonlyMap<string, unknown> | null = null;
  try {
    replies = await askConf();
    take(state, replies ?? new Map(), Date.now());
  } catch {
    // Treated like no answer.
  }
  state.askedAt = Date.now();
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

/** Gives equal names different ids, and keeps the objects of unchanged entries. */
function united(all: readonly StaticEntries[], before: readonly ScheduleEntry[]): readonly ScheduleEntry[] {
  const known = new Map(before.map((entry) => [entry.id, entry]));
  const byId = new Map<string, ScheduleEntry>();
  const seen = new Set<string>();
  for (const entry of all.flatMap(({ entries }) => entries)) {
    const print = printOf(entry);
    if (seen.has(print)) continue;
    seen.add(print);
    let id = entry.name;
    for (let count = 2; byId.has(id); count += 1) id = `${entry.name} (${count})`;
    const kept = known.get(id);
    byId.set(id, kept !== undefined && printOf(kept) === print ? kept : { ...entry, id });
  }
  return [...byId.values()];
}

function printOf({ id, rule, ...rest }: ScheduleEntry): string {
  return JSON.stringify([rule.text, rule.relative, rest]);
}

/**
 * Reads a `beat_schedule`: by name `{ task, schedule, args, kwargs, options: { queue }, relative }`, and `enabled:
 * false` for a disabled entry. How `schedule` may be written: `readSchedule`.
 *
 * @param timezone that of the app
 */
function staticEntries(beatSchedule: unknown, timezone: string | null): StaticEntries {
  if (!isRecord(beatSchedule)) return { entries: [], unreadable: 0 };
  const entries: ScheduleEntry[] = [];
  let unreadable = 0;
  for (const name of Object.keys(beatSchedule)) {
    const entry = entries.length < MOST_ENTRIES ? entryOf(name, beatSchedule[name], timezone) : null;
    if (entry === null) unreadable += 1;
    else entries.push(entry);
  }
  return { entries, unreadable };
}

function entryOf(name: string, value: unknown, timezone: string | null): ScheduleEntry | null {
  try {
    if (name === '' || !isRecord(value)) return null;
    const { task, schedule, args, kwargs, relative, enabled } = value;
    const options = isRecord(value.options) ? value.options : {};
    const rule = readSchedule(schedule, relative === true);
    return {
      id: name,
      name,
      task: filledString(task),
      rule,
      enabled: enabled !== false,
      args: shown(args, '()', pythonTupleText),
      kwargs: shown(kwargs, '{}', pythonText),
      shownArgs: filledString(options.argsrepr),
      shownKwargs: filledString(options.kwargsrepr),
      queue: filledString(options.queue),
      timezone: rule.timezone ?? timezone,
    };
  } catch {
    // A throwing getter of the host's.
    return null;
  }
}

function shown(value: unknown, none: string, show: typeof pythonText): string {
  if (value === undefined || value === null) return none;
  let json: string | undefined;
  try {
    json = JSON.stringify(value);
  } catch {
    // A cycle, or a number that JSON has no form for.
  }
  return json === undefined ? textOf(value, LONGEST) : show(json, 0, LONGEST);
}
