import type { Activity, MinuteCounts } from '../../source.ts';
import { activityRule, type Finding, lookAtTasks } from '../finding.ts';

const MINUTE_MS = 60_000;
/** The current period: long enough for rare tasks, short enough to see a deploy. */
const RECENT_MS = 15 * MINUTE_MS;
/** The period of comparison. */
const BEFORE_MS = 60 * MINUTE_MS;
/** Steps in which the start of the problem is searched. */
const STEP_MS = 5 * MINUTE_MS;
/** Maximum number of steps in a row without finished tasks before the search ends. */
const MAX_EMPTY_STEPS = 3;
/** Fewer failures may be chance. */
const LEAST_FAILED = 3;
/** Fewer finished tasks, or a smaller part of the period of comparison that was observed, do not show what is usual. */
const LEAST_BEFORE = 20;
const LEAST_OBSERVED_MS = BEFORE_MS / 2;
/** A share of failures that is always found: the limit of the common alert rules for Celery. */
const ALWAYS = 0.05;
/** A smaller share is found only if it has risen by this factor, and never below the least share. */
const FACTOR = 3;
const LEAST_SHARE = 0.01;
/** The usual share if nothing has failed: few tasks cannot show a smaller one. */
const LEAST_USUAL = 0.001;
/** A rise that chance alone brings about more often than this is not found: many names are judged every minute. */
const MOST_CHANCE = 0.001;

/**
 * `failure_rate`: of one name, 5 % or more of the tasks of the last 15 minutes failed, or 1 % or more, three times
 * as many as in the hour before it began, and more than chance explains. At least 3 failures. Critical if both apply.
 *
 * The hour before ends when the current rate began, so that a problem of two hours does not count as usual. It is
 * compared with only if at least half of it was observed. Unknown until an hour and a quarter has been observed.
 */
export const failureRate = activityRule('failure_rate', function* (activity, now) {
  const findings: Finding[] = [];
  for (const name of activity.counts.names()) {
    const finding = findingOf(activity, name, now);
    if (finding !== null) findings.push(finding);
    yield;
  }
  findings.sort((a, b) => Number(b.evidence.failed) - Number(a.evidence.failed));
  const seen = now - activity.since;
  const missing = seen < BEFORE_MS + RECENT_MS ? 'It needs data from the previous hour.' : null;
  // The limit of 5 % does not need the hour before, so earlier findings by it are judged again.
  return { findings, unknown: missing, unjudged: [] };
});

type Rate = ReturnType<typeof rateOf>;

function rateOf(counts: MinuteCounts, name: string, from: number, to: number) {
  const { failed, succeeded } = counts.counts(name, from, to);
  const ended = failed + succeeded;
  return { failed, ended, share: ended === 0 ? 0 : failed / ended };
}

function findingOf({ counts, since: observedSince }: Activity, name: string, now: number): Finding | null {
  // The current minute counts.
  const end = Math.floor(now / MINUTE_MS + 1) * MINUTE_MS;
  const rate = rateOf(counts, name, end - RECENT_MS, end);
  if (rate.failed < LEAST_FAILED || rate.share < LEAST_SHARE) return null;
  const since = beginOf(counts, name, end - RECENT_MS, rate.share);
  const before = rateOf(counts, name, since - BEFORE_MS, since);
  const isUsualKnown = before.ended >= LEAST_BEFORE && since - observedSince >= LEAST_OBSERVED_MS;
  const hasRisen =
    isUsualKnown &&
    rate.share >= FACTOR * Math.max(before.share, LEAST_USUAL) &&
    chanceOf(rate, before) <= MOST_CHANCE;
  if (rate.share < ALWAYS && !hasRisen) return null;
  const label = name === counts.others ? 'Other names' : name;
  const usual = isUsualKnown ? ` (before ${percent(before.share)})` : '';
  return {
    severity: hasRisen && rate.share >= ALWAYS ? 'critical' : 'warning',
    since,
    subject: label,
    summary: `${label} fails ${percent(rate.share)}${usual}`,
    evidence: {
      failed: rate.failed,
      ended: rate.ended,
      share: rounded(rate.share),
      minutes: RECENT_MS / MINUTE_MS,
      before_share: isUsualKnown ? rounded(before.share) : null,
      before_ended: before.ended,
    },
    look: lookAtTasks({
      ...(name === counts.others ? {} : { name }),
      state: 'FAILURE',
      since: new Date(since).toISOString(),
    }),
  };
}

/**
 * How likely at least so many of all failures fall into the current period if the rate has not changed: Chernoff's bound
 * of the binomial tail, so at most this.
 */
function chanceOf(now: Rate, before: Rate): number {
  const failures = now.failed + before.failed;
  const [seen, expected] = [now.failed / failures, now.ended / (now.ended + before.ended)];
  const divergence = (a: number, b: number): number => (a === 0 ? 0 : a * Math.log(a / b));
  return Math.exp(-failures * (divergence(seen, expected) + divergence(1 - seen, 1 - expected)));
}

/** The first minute with a failure since which about this share has failed. */
function beginOf(counts: MinuteCounts, name: string, recent: number, share: number): number {
  let begin = recent;
  let empty = 0;
  for (let from = recent - STEP_MS; from >= counts.since && empty < MAX_EMPTY_STEPS; from -= STEP_MS) {
    const step = rateOf(counts, name, from, from + STEP_MS);
    if (step.ended === 0) empty++;
    else if (step.share < share / 2) break;
    else {
      begin = from;
      empty = 0;
    }
  }
  // It began within the previous step.
  const least = Math.max(counts.since, begin - STEP_MS);
  while (begin > least && rateOf(counts, name, begin - MINUTE_MS, begin).share >= share / 2) {
    begin -= MINUTE_MS;
  }
  while (begin < recent + RECENT_MS && rateOf(counts, name, begin, begin + MINUTE_MS).failed === 0) {
    begin += MINUTE_MS;
  }
  return begin;
}

const rounded = (share: number): number => Math.round(share * 10_000) / 10_000;

function percent(share: number): string {
  const value = share * 100;
  return `${value < 10 ? Math.round(value * 10) / 10 : Math.round(value)} %`;
}
