/** The verdict on the deployment: what the rules of the server have found, and whether they had enough data. */
import type { ComponentsBody } from '../client.ts';
import type { ComponentBody, FindingBody, QueueBody, RuleBody } from '../wire.ts';
import { linkTo, queueLink, workerLink } from './route.ts';
import { counted } from './text/format.ts';

/** Findings about the same subject or the same tasks. */
export interface Problem {
  readonly worst: FindingBody;
  readonly others: FindingBody[];
}

/** The verdict at the top of the overview. */
export interface Verdict {
  /** `good` only if every rule could judge and found nothing. */
  readonly tone: 'good' | 'failure' | 'retry' | 'waiting';
  readonly text: string;
  /** How many rules could judge. */
  readonly checks: string;
  readonly problems: readonly Problem[];
  /** Rules that could not judge, and why. */
  readonly unknown: readonly string[];
}

/** Names of the rules for people. Unknown rules of a newer server are shown by their code. */
const NAMES: Readonly<Record<string, string>> = {
  source_down: 'Servers',
  workers_silent: 'Silent workers',
  worker_stuck: 'Stuck workers',
  queue_waiting: 'Waiting queues',
  queue_growing: 'Growing queues',
  failure_rate: 'Failure rates',
  task_overrun: 'Long runs',
  task_ran_twice: 'Repeated runs',
  tasks_lost: 'Lost tasks',
  tasks_missing: 'Missing tasks',
  tasks_overdue: 'Overdue tasks',
  schedule_missed: 'Missed schedules',
  store_behind: 'History store',
};

/** The verdict on the component `findings`, which is absent if the server or all of its sources have no rules. */
export function verdictOf(component: ComponentBody | undefined): Verdict {
  const findings = component?.findings ?? [];
  const rules = component?.rules ?? [];
  const unknown = rules.filter(({ status }) => status === 'unknown');
  const problems = problemsOf(findings);
  const base = { problems, unknown: reasonsOf(unknown, rules) };
  const checks = `${rules.length - unknown.length} of ${counted(rules.length, 'check')} ran`;
  if (problems.length > 0) {
    const unlisted = rules.reduce((sum, { found }) => sum + found, 0) - findings.length;
    const isCritical = findings.some(({ severity }) => severity === 'critical');
    return {
      ...base,
      tone: isCritical ? 'failure' : 'retry',
      text: counted(problems.length, 'problem'),
      checks: unlisted > 0 ? `${checks}, ${counted(unlisted, 'finding')} not listed` : checks,
    };
  }
  // A source that is up proves nothing about its tasks.
  if (rules.every(({ source, status }) => source === null || status === 'unknown')) {
    return { ...base, tone: 'waiting', text: 'Unknown', checks };
  }
  return unknown.length === 0
    ? { ...base, tone: 'good', text: 'All good', checks }
    : { ...base, tone: 'waiting', text: 'No known problem', checks };
}

/** Until the component has been read. */
export const unreadVerdict = (hasFailed: boolean): Verdict => ({
  tone: 'waiting',
  text: hasFailed ? 'Unknown' : 'Checking …',
  checks: hasFailed ? 'The checks could not be read' : '',
  problems: [],
  unknown: [],
});

/** @param findings the worst first */
function problemsOf(findings: readonly FindingBody[]): readonly Problem[] {
  const problems: Problem[] = [];
  const byMark = new Map<string, Problem>();
  for (const finding of findings) {
    const marks = marksOf(finding);
    const known = marks.map((mark) => byMark.get(mark)).find((problem) => problem !== undefined);
    const problem = known ?? { worst: finding, others: [] };
    if (known === undefined) problems.push(problem);
    else known.others.push(finding);
    for (const mark of marks) byMark.set(mark, problem);
  }
  return problems;
}

/** What a finding is about: its subject, which no other problem has, and some tasks. */
export function marksOf(finding: FindingBody): readonly string[] {
  const { code, source, subject, evidence } = finding;
  const ids: readonly unknown[] = Array.isArray(evidence.task_ids) ? evidence.task_ids : [];
  return [`${kindOf(finding) ?? code} ${subject}`, ...ids].map((mark) => `${source} ${mark}`);
}

/** What the subject is: the parameter that lists what is affected has its name. */
const kindOf = ({ look, subject }: FindingBody): string | undefined =>
  [...queryOf(look)].find(([, value]) => value === subject)?.[0];

const queryOf = (look: string): URLSearchParams => new URL(look, 'http://monitor').searchParams;

/** The findings about a queue. @param now its current state; `null`: that of any source */
export const findingsOfQueue = (
  components: ComponentsBody | null,
  { name, now }: { readonly name: string; readonly now: QueueBody | null },
): readonly FindingBody[] =>
  (components?.findings?.findings ?? []).filter(
    (finding) =>
      finding.subject === name &&
      kindOf(finding) === 'queue' &&
      (now === null || finding.source === now.source),
  );

/** The summary of a further finding, without the subject that both begin with. */
export const clauseOf = ({ summary }: FindingBody, first: FindingBody): string =>
  summary.replace(`${first.summary.split(': ')[0]}: `, '');

/** One line for each reason, with the rules that it blocks. */
function reasonsOf(unknown: readonly RuleBody[], all: readonly RuleBody[]): string[] {
  const isSeveral = new Set(all.flatMap(({ source }) => source ?? [])).size > 1;
  const byReason = Map.groupBy(unknown, ({ source, reason }) => {
    const prefix = isSeveral && source !== null ? `${source}: ` : '';
    return `${prefix}${reason ?? 'Unknown reason.'}`;
  });
  return [...byReason].map(
    ([reason, rules]) => `${rules.map(({ code }) => NAMES[code] ?? code).join(', ')}: ${reason}`,
  );
}

/** The page of the subject, with the period of the finding; otherwise the list of what is affected. */
export function linkOf(finding: FindingBody): string {
  const { code, look } = finding;
  const subject = finding.subject ?? '';
  const query = queryOf(look);
  if (kindOf(finding) === 'queue') return queueLink(subject);
  if (code === 'worker_stuck') return workerLink(subject);
  if (code === 'task_overrun') return linkTo('workers', { show: 'running' });
  if (code === 'failure_rate') {
    query.delete('state');
    return linkTo('failures', query);
  }
  if (look.startsWith('/api/tasks/')) return linkTo('tasks', query);
  if (look.startsWith('/api/workers/')) return linkTo('workers');
  return linkTo(look.startsWith('/api/beat/') ? 'schedules' : 'system');
}

/** The hints of a component about settings that hide data. */
export function hintsOf(config: Readonly<Record<string, unknown>> | null): string[] {
  const hints = config?.hints;
  return Array.isArray(hints) ? hints.filter((hint) => typeof hint === 'string') : [];
}

/** The hints of all components, each with the key of its component. The one that explains most comes first. */
export function allHints(components: ComponentsBody | null): readonly (readonly [string, string])[] {
  return Object.entries(components ?? {})
    .flatMap(([key, { config }]) => hintsOf(config).map((hint) => [key, hint] as const))
    .toSorted(([a], [b]) => rankOf(a) - rankOf(b));
}

/** Without a broker or events, nothing is known of a task; what is missing of results hides details. */
function rankOf(key: string): number {
  if (/(?:^|\.)broker$/.test(key)) return 0;
  return /(?:^|\.)collector$/.test(key) ? 1 : 2;
}
