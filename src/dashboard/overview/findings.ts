/** The verdict on the deployment: what the rules of the server have found, and whether they had enough data. */
import type { ComponentBody, ComponentsBody, FindingBody, RuleBody } from '../../client.ts';
import { linkTo, queueLink, workerLink } from '../route.ts';
import { counted } from '../text/numbers.ts';

/** The verdict at the top of the overview. */
export interface Verdict {
  /** `success` only if every rule could judge and found nothing. */
  readonly tone: 'good' | 'failure' | 'retry' | 'waiting';
  readonly text: string;
  readonly findings: readonly FindingBody[];
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
  const ran = rules.length - unknown.length;
  const total = counted(rules.length, 'check');
  const base = { findings, unknown: reasonsOf(unknown, rules) };
  if (findings.length > 0) {
    const found = rules.reduce((sum, rule) => sum + rule.found, 0);
    const isCritical = findings.some(({ severity }) => severity === 'critical');
    const text = `✕ ${counted(Math.max(found, findings.length), 'problem')} · ${ran} of ${total} ran`;
    return { ...base, tone: isCritical ? 'failure' : 'retry', text };
  }
  // A source that is up proves nothing about its tasks.
  if (rules.every(({ source, status }) => source === null || status === 'unknown')) {
    const judged = rules.length === 0 ? 'nothing here can be checked' : `none of ${total} has data yet`;
    return { ...base, tone: 'waiting', text: `Unknown: ${judged}.` };
  }
  if (unknown.length === 0) {
    return { ...base, tone: 'good', text: `No problem found. ${ran} of ${total} ran.` };
  }
  const lack = unknown.length === 1 ? 'lacks' : 'lack';
  const text = `${unknown.length} of ${total} ${lack} data; the others found nothing.`;
  return { ...base, tone: 'waiting', text };
}

/** One line for each reason, with the rules that it blocks. */
function reasonsOf(unknown: readonly RuleBody[], all: readonly RuleBody[]): string[] {
  const isSeveral = new Set(all.flatMap(({ source }) => source ?? [])).size > 1;
  const rules = new Map<string, string[]>();
  for (const { code, source, reason } of unknown) {
    const key = `${isSeveral && source !== null ? `${source}: ` : ''}${reason ?? 'Unknown reason.'}`;
    rules.set(key, [...(rules.get(key) ?? []), NAMES[code] ?? code]);
  }
  return [...rules].map(([reason, names]) => `${names.join(', ')}: ${reason}`);
}

/** The link of a finding, with the period and the filters of its subject, and its text. */
export function lookOf({ code, subject, look }: FindingBody): {
  readonly link: string;
  readonly text: string;
} {
  const { pathname, searchParams } = new URL(look, 'http://monitor');
  const worker = searchParams.get('worker');
  if (code === 'worker_stuck' && worker !== null) {
    return { link: workerLink(worker), text: 'Worker' };
  }
  if (code === 'task_overrun') return { link: linkTo('workers', { show: 'running' }), text: 'Running' };
  if (code === 'failure_rate' && subject !== null) {
    const from = searchParams.get('since');
    const link = linkTo('failures', { name: subject, ...(from === null ? {} : { from }) });
    return { link, text: 'Failures' };
  }
  if (code.startsWith('queue_') && subject !== null) {
    return { link: queueLink(subject), text: 'Queue' };
  }
  if (pathname.startsWith('/api/tasks/')) return { link: linkTo('tasks', searchParams), text: 'Tasks' };
  if (pathname.startsWith('/api/workers/')) return { link: linkTo('workers'), text: 'Workers' };
  if (pathname.startsWith('/api/beat/')) return { link: linkTo('schedules'), text: 'Schedules' };
  return { link: linkTo('system'), text: 'System' };
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
