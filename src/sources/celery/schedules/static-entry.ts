/** Entries of `beat_schedule`, as a host writes them in `settings` and as workers show them. */
import { textOf } from '../../../text.ts';
import { filledString, isRecord } from '../../../values.ts';
import { pythonText, pythonTupleText } from '../protocol/python-repr.ts';
import type { ScheduleRule } from './rule.ts';
import { readSchedule } from './schedule-text.ts';

/** One entry. */
export interface StaticEntry {
  readonly name: string;
  readonly task: string | null;
  readonly rule: ScheduleRule;
  readonly enabled: boolean;
  /** As Python shows them. */
  readonly args: string;
  readonly kwargs: string;
  /** As events show them, if the entry's options contain them. */
  readonly shownArgs: string | null;
  readonly shownKwargs: string | null;
  readonly queue: string | null;
  /** The zone in which it is read; `null` if unknown. */
  readonly timezone: string | null;
}

/** A `beat_schedule`. */
export interface StaticEntries {
  readonly entries: readonly StaticEntry[];
  /** Entries that cannot be read. */
  readonly unreadable: number;
}

/** Most entries read of one configuration. */
const MOST_ENTRIES = 5000;
/** Longest text kept of arguments, in characters. */
const LONGEST = 65_536;

/**
 * Reads a `beat_schedule`: by name `{ task, schedule, args, kwargs, options: { queue }, relative }`, and `enabled:
 * false` for a disabled entry. How `schedule` may be written: `readSchedule`.
 *
 * @param timezone that of the app
 */
export function staticEntries(beatSchedule: unknown, timezone: string | null): StaticEntries {
  if (!isRecord(beatSchedule)) return { entries: [], unreadable: 0 };
  const entries: StaticEntry[] = [];
  let unreadable = 0;
  for (const name of Object.keys(beatSchedule)) {
    const entry = entries.length < MOST_ENTRIES ? entryOf(name, beatSchedule[name], timezone) : null;
    if (entry === null) unreadable += 1;
    else entries.push(entry);
  }
  return { entries, unreadable };
}

function entryOf(name: string, value: unknown, timezone: string | null): StaticEntry | null {
  try {
    if (name === '' || !isRecord(value)) return null;
    const { task, schedule, args, kwargs, relative, enabled } = value;
    const options = isRecord(value.options) ? value.options : {};
    const rule = readSchedule(schedule, relative === true);
    return {
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
