/** Which names of tasks ran when workers died, more often than chance explains. */
import type { Steps } from '../../scheduler.ts';
import type { Activity, WorkerDeath } from '../../source.ts';

const DAY_MS = 24 * 60 * 60_000;
/** Fewer deaths show nothing. */
const LEAST_DEATHS = 3;
/** What happens by chance more often than this is not reported. */
const MOST_CHANCE = 0.05;

/** A name of tasks that ran at most deaths of workers, compared with how much of the time it runs. */
export interface Suspect {
  readonly name: string;
  /** At how many deaths it ran. */
  readonly deaths: number;
  /** Its usual share of the time that tasks run, from 0 to 1. */
  readonly share: number;
  /** How likely it is to run at so many deaths, or more, by chance. */
  readonly chance: number;
}

/**
 * The suspects, the least likely first; `null`: unknown. At a death at which a worker ran k tasks, a name that has the
 * share s of the running time of a day ran with the chance 1 − (1 − s)^k. A suspect ran at three deaths or more, and is
 * not explained by a chance of 5 % that any of the names would.
 */
export function* suspectsOf({ counts, deaths }: Activity, now: number): Steps<readonly Suspect[] | null> {
  if (deaths === undefined || counts.ran === undefined) return null;
  if (deaths.length < LEAST_DEATHS) return [];
  const ran = ranInDeaths(deaths);
  for (const name of [...counts.names(), counts.others]) {
    ran.set(name, Math.max(ran.get(name) ?? 0, counts.ran(name, now - DAY_MS, now)));
    yield;
  }
  let total = 0;
  for (const ms of ran.values()) total += ms;
  const suspects: Suspect[] = [];
  for (const [name, times] of timesOf(deaths)) {
    // Any task can bring a name of its own: most of them cost nothing.
    if (times < LEAST_DEATHS) continue;
    const share = total === 0 ? 1 : (ran.get(name) ?? 0) / total;
    const chance = chanceOf(deaths, share, times);
    if (chance * ran.size <= MOST_CHANCE)
      suspects.push({ name, deaths: times, share: rounded(share), chance: rounded(chance) });
    yield;
  }
  return suspects.sort((a, b) => a.chance - b.chance);
}

/** How long the tasks of each name had run at deaths: such a run may end without being counted. In milliseconds. */
function ranInDeaths(deaths: readonly WorkerDeath[]): Map<string, number> {
  const ran = new Map<string, number>();
  for (const { at, running } of deaths) {
    for (const { name, startedAt } of running) {
      if (name !== null) ran.set(name, (ran.get(name) ?? 0) + Math.max(0, at - startedAt));
    }
  }
  return ran;
}

/** At how many deaths each name ran. */
function timesOf(deaths: readonly WorkerDeath[]): Map<string, number> {
  const times = new Map<string, number>();
  for (const { running } of deaths) {
    for (const name of new Set(running.flatMap((task) => task.name ?? [])))
      times.set(name, (times.get(name) ?? 0) + 1);
  }
  return times;
}

/** How likely a name with this share runs at so many deaths or more: the exact tail of the binomial distribution. */
function chanceOf(deaths: readonly WorkerDeath[], share: number, least: number): number {
  /** The chances of 0, 1, 2 … deaths. */
  let spread = [1];
  for (const { running } of deaths) {
    const one = 1 - (1 - share) ** running.length;
    spread = [...spread, 0].map((chance, times) => chance * (1 - one) + (spread[times - 1] ?? 0) * one);
  }
  return spread.slice(least).reduce((sum, chance) => sum + chance, 0);
}

/** Three digits. */
function rounded(value: number): number {
  return Number(value.toPrecision(3));
}
