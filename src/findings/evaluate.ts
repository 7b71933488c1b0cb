/** Runs every rule on every source. */

import type { Steps } from '../scheduler.ts';
import type { ComponentBody } from '../wire.ts';
import { clear, type Finding, type Judgement, type Rule, type SourceSituation } from './finding.ts';
import { failureRate } from './rules/failure-rate.ts';
import { tasksLost, tasksMissing, tasksOverdue } from './rules/open-tasks.ts';
import { queueGrowing, queueWaiting } from './rules/queues.ts';
import { taskRanTwice } from './rules/ran-twice.ts';
import { scheduleMissed } from './rules/schedule-missed.ts';
import { storeBehind } from './rules/store-behind.ts';
import { taskOverrun } from './rules/task-overrun.ts';
import { workerStuck, workersSilent } from './rules/workers.ts';
import { judgeServers, SOURCE_DOWN } from './source-down.ts';

/** Maximum number of listed findings of one rule about one source. */
export const MOST_FINDINGS = 20;

/** A finding with its rule and its source. */
export interface FoundProblem extends Finding {
  readonly code: string;
  /** `null`: several sources, or the monitor itself. */
  readonly source: string | null;
  readonly since: number;
}

/** The outcome of a rule for a source. */
export interface RuleOutcome {
  readonly code: string;
  /** `null`: the rule is about all sources together. */
  readonly source: string | null;
  /** Also `found` if the rule could not judge everything. */
  readonly status: 'found' | 'clear' | 'unknown';
  /** Why it could not judge everything; `null`: it could. */
  readonly reason: string | null;
  /** Number of problems found, including those that are not listed. */
  readonly found: number;
  /** Number of critical ones. */
  readonly critical: number;
  /** The subjects of the findings that are not listed. */
  readonly unlisted: readonly (string | null)[];
  /** The subjects that it could not judge; `null`: all of them. */
  readonly unjudged: readonly string[] | null;
}

/** The results of all rules at one time. */
export interface Evaluation {
  /** The worst first. */
  readonly findings: readonly FoundProblem[];
  readonly rules: readonly RuleOutcome[];
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** The data that is judged. */
interface Situation {
  readonly now: number;
  readonly sources: readonly SourceSituation[];
  /** Components of the monitor itself that can be down, by key. */
  readonly own: Readonly<Record<string, ComponentBody>>;
  /** Called with the error of a rule that throws because of invalid data. */
  readonly onError: (error: unknown, source: SourceSituation) => void;
}

/** @param firstFound when each finding was first found; the caller keeps it between evaluations */
export function* evaluate(
  { now, sources, own, onError }: Situation,
  firstFound: Map<string, number>,
): Steps<Evaluation> {
  const found: FoundProblem[] = [];
  const rules: RuleOutcome[] = [];
  const before = new Map(firstFound);
  firstFound.clear();
  const take = (code: string, source: string | null, judgement: Judgement): void => {
    const { findings, unknown, unjudged = unknown === null ? [] : null } = judgement;
    const status = findings.length > 0 ? 'found' : unknown === null ? 'clear' : 'unknown';
    const unlisted = findings.slice(MOST_FINDINGS).map(({ subject }) => subject);
    rules.push({
      code,
      source,
      status,
      reason: unknown,
      found: findings.length,
      critical: findings.filter(isCritical).length,
      unlisted,
      unjudged,
    });
    for (const finding of findings.slice(0, MOST_FINDINGS)) {
      const key = JSON.stringify([code, source, finding.subject]);
      const first = before.get(key) ?? now;
      firstFound.set(key, first);
      found.push({ ...finding, code, source, since: Math.min(finding.since ?? first, now) });
    }
  };
  take(SOURCE_DOWN, null, judgeServers(sources, own));
  for (const source of sources) {
    for (const rule of RULES) {
      const judgement = yield* judge(rule, source, now, onError);
      if (judgement !== null) take(rule.code, source.name, judgement);
      yield;
    }
  }
  found.sort((a, b) => Number(isCritical(b)) - Number(isCritical(a)));
  return { findings: found, rules, at: now };
}

function isCritical({ severity }: Finding): boolean {
  return severity === 'critical';
}

/** Stale data is not judged: it may have changed. */
function* judge(
  rule: Rule,
  source: SourceSituation,
  now: number,
  onError: Situation['onError'],
): Steps<Judgement | null> {
  try {
    const judgement = yield* rule.judge(source, now);
    const isStale = source.error !== null && judgement !== null;
    return isStale ? clear('The source is down.') : judgement;
  } catch (error) {
    onError(error, source);
    return clear('The data of the source cannot be read.');
  }
}

/** Every rule about one source. */
export const RULES: readonly Rule[] = [
  workersSilent,
  workerStuck,
  queueWaiting,
  queueGrowing,
  failureRate,
  taskOverrun,
  taskRanTwice,
  tasksLost,
  tasksMissing,
  tasksOverdue,
  scheduleMissed,
  storeBehind,
];
