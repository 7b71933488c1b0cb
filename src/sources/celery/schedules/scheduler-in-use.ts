/** Which scheduler beat uses, and the consequences. */
import type { Problem } from '../problem.ts';
import type { BeatScheduler } from './beat-component.ts';
import type { DjangoSnapshot } from './django/django-reader.ts';
import { namesDjangoBeat } from './django/django-schedule.ts';
import type { Reading } from './reading.ts';
import { isRedbeatCutOff, type RedbeatSchedule, redbeatEntries, usesRedbeat } from './redbeat-schedule.ts';
import { foreignScheduler } from './redbeat-settings.ts';
import { appTimezone } from './rows.ts';
import type { StaticEntry } from './static-entry.ts';
import type { StaticSchedule } from './static-schedule.ts';

/** The schedules that are read. */
export interface Readings {
  readonly fixed: StaticSchedule;
  readonly redbeat: RedbeatSchedule;
  readonly django: Reading<DjangoSnapshot>;
}

/** The entries of the scheduler that stores them; `null`: none does, or they have not been read. */
export function entriesOf(readings: Readings): ReadonlyMap<string, StaticEntry> | null {
  const scheduler = schedulerOf(readings);
  if (scheduler === 'redbeat') return redbeatEntries(readings.redbeat, zoneOf(readings));
  return scheduler === 'django' ? (readings.django.snapshot?.enabled ?? null) : null;
}

/** Why existing or possible entries cannot be read; `null` when they can. */
export function cutOff(readings: Readings): Problem | null {
  const { redbeat, django } = readings;
  const configurations = readings.fixed.configurations();
  if (isRedbeatCutOff(redbeat, configurations)) return redbeat.reading.problem;
  const { problem, snapshot } = django;
  if (problem === null || snapshot?.total === 0) return null;
  // A database user without permission for these tables is only a problem if a setting names them.
  return problem.code !== 'NOPERM' || configurations.some(namesDjangoBeat) ? problem : null;
}

/** A scheduler named by a setting comes first; a table or key may be left over. */
export function schedulerOf({ redbeat, django, fixed }: Readings): BeatScheduler | null {
  const configurations = fixed.configurations();
  if (django.isPossible && configurations.some(namesDjangoBeat)) return 'django';
  if (usesRedbeat(redbeat, configurations)) return 'redbeat';
  if ((django.snapshot?.total ?? 0) > 0) return 'django';
  return fixed.entries().size > 0 ? 'static' : null;
}

/** Another scheduler that the configuration names. */
export function foreignOf({ fixed, django }: Readings): string | null {
  for (const configuration of fixed.configurations()) {
    const named = foreignScheduler(configuration);
    if (named !== null && !(django.isPossible && namesDjangoBeat(configuration))) return named;
  }
  return null;
}

/** The zone of the app; `null`: unknown. */
export function zoneOf({ redbeat, fixed }: Readings): string | null {
  return appTimezone(redbeat.reading.snapshot?.entries ?? [], fixed.timezone());
}

/** Whether any schedule was found; `null` before it is known. */
export function isEnabled(readings: Readings): boolean | null {
  const { redbeat, django } = readings;
  if (schedulerOf(readings) !== null || foreignOf(readings) !== null) return true;
  const isUnread = [redbeat.reading, django].some(
    ({ isPossible, readAt, problem }) => isPossible && readAt === null && problem === null,
  );
  return cutOff(readings) !== null || isUnread ? null : false;
}

/** How many entries the scheduler has, and how many of them cannot be read. */
export function countsOf({ redbeat, django, fixed }: Readings, scheduler: BeatScheduler | null) {
  if (scheduler !== 'redbeat' && scheduler !== 'django') {
    return { entries: fixed.entries().size, unreadable: fixed.unreadable() };
  }
  const { snapshot } = scheduler === 'redbeat' ? redbeat.reading : django;
  return { entries: snapshot?.total ?? null, unreadable: snapshot?.unreadable ?? 0 };
}
