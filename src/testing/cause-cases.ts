/** Cases on the causes of failures, for sources that know them. */
import type { Task } from '../model.ts';
import type { TaskStats } from '../source.ts';
import type { Bench, Checks } from './bench.ts';
import { held, taskQuery } from './listing.ts';
import { fail } from './shape.ts';
import { statsOf } from './stats-cases.ts';

const DAY = 1440;
const MOST = 1_000;
const MOST_NAMES = 20;
const NO_FAILURE = 'The source has no failure of the last 24 hours.';
const { causeOf } = taskQuery();

/** The causes that a source reports, and those in its list. */
interface Known {
  readonly groups: NonNullable<TaskStats['causes']>;
  readonly isTruncated: boolean;
  /** The failures whose last change is certainly in the window, by cause. */
  readonly rows: ReadonlyMap<string, readonly Task[]>;
  readonly since: Date | null;
}

/** Skips the case when the source does not know causes. */
async function known(bench: Bench, most = MOST): Promise<Known> {
  const { rows: all, since } = await held(bench);
  const now = new Date();
  const stats = await statsOf(bench, now, { since }, DAY, { causes: most });
  if (stats.causes === undefined) return bench.skip('The statistics have no causes.');
  const from = now.getTime() - DAY * 60_000 + stats.stepSeconds * 1_000;
  const rows = new Map<string, Task[]>();
  for (const row of all) {
    const id = causeOf(row)?.id;
    if (id === undefined || !row.timestamp || row.timestamp.getTime() < from) continue;
    rows.set(id, [...(rows.get(id) ?? []), row]);
  }
  return { groups: stats.causes, isTruncated: stats.causesTruncated === true, rows, since };
}

/** Cases on `causes` of `getTaskStats`. */
export const CAUSE_CHECKS: Checks = {
  'groups failures by cause, the most frequent first': async (bench) => {
    const { groups, rows, isTruncated } = await known(bench);
    if (groups.length === 0 && rows.size === 0) bench.skip(NO_FAILURE);
    for (const [index, { id, count, sample, names, activity }] of groups.entries()) {
      const own = rows.get(id) ?? [];
      if (count < own.length) fail(`count of the cause ${id}`, `the ${own.length} that the list has`, count);
      const charted = activity.reduce((sum, step) => sum + step, 0);
      if (charted > count) fail(`activity of the cause ${id}`, `at most ${count}`, charted);
      const isListed = own.length < count || sample === null || own.some((row) => row.id === sample);
      if (!isListed) fail(`sample of the cause ${id}`, 'the id of a task with this cause', sample);
      const missing = own.find(({ name }) => name && names.length < MOST_NAMES && !names.includes(name));
      if (missing) fail(`names of the cause ${id}`, `${missing.name} among them`, names);
      const before = groups[index - 1];
      if (before && before.count < count) fail('getTaskStats().causes', 'the most frequent first', groups);
    }
    const left = [...rows.keys()].filter((id) => !groups.some((group) => group.id === id));
    if (left.length > 0 && !isTruncated)
      fail('getTaskStats().causes', 'every cause of listed failures', left);
  },

  'lists as many causes as were asked for, and says whether there are others': async (bench) => {
    const all = await known(bench);
    const one = await known(bench, 1);
    if (one.groups.length > 1) fail('getTaskStats().causes', 'at most 1', one.groups);
    if (all.groups.length > 1 && !one.isTruncated) fail('getTaskStats().causesTruncated', 'true', false);
    const { causes } = await statsOf(bench, new Date());
    if (causes !== undefined) fail('getTaskStats().causes that nobody asked for', 'none', causes);
  },

  'has no other causes than the list is filtered by': async (bench) => {
    const all = await known(bench);
    const [first] = all.groups;
    if (!first) return bench.skip(NO_FAILURE);
    const filter = { since: all.since, causes: [first.id] };
    const { causes = [] } = await statsOf(bench, new Date(), filter, DAY, { causes: MOST });
    const foreign = causes.filter(({ id }) => id !== first.id);
    if (foreign.length > 0) fail(`causes of the cause ${first.id}`, 'no others', foreign);
    if (causes[0]?.count !== first.count) fail(`count of the cause ${first.id}`, String(first.count), causes);
  },
};
