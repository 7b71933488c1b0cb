/** The contract suite: everything that `createMonitorRouter` expects from a source. */
import type { MonitorSources } from '../source.ts';
import { ACTIVITY_CHECKS } from './activity-cases.ts';
import { type Bench, type ContractPart, type ContractSetup, onBench, partsOf } from './bench.ts';
import { CAUSE_CHECKS } from './cause-cases.ts';
import type { Checks } from './checks.ts';
import { CONDITION_CHECKS } from './condition-cases.ts';
import { CONDUCT_CHECKS } from './conduct-cases.ts';
import { DETAIL_CHECKS, TREE_CHECKS } from './detail-cases.ts';
import { EVENT_CHECKS } from './event-cases.ts';
import {
  COMPONENT_CHECKS,
  HEALTH_CHECKS,
  HISTORY_CHECKS,
  QUEUE_CHECKS,
  SCHEDULE_CHECKS,
  WORKER_CHECKS,
} from './plain-cases.ts';
import { fail } from './shape.ts';
import { STATS_CHECKS } from './stats-cases.ts';
import { TASK_CHECKS } from './task-cases.ts';

/** One case for any test runner: `test(name, run)`. */
export interface SourceCase {
  /** The expected behaviour, such as `tasks: sorts by each field in both orders …`. */
  readonly name: string;
  /**
   * Resolves when the source behaves as named; otherwise rejects with an AssertionError that names the value
   * and what is wrong with it.
   */
  run(): Promise<void>;
}

const TRIES_WHEN_LIVE = 3;

const CHECKS_OF: Readonly<Record<ContractPart, Checks>> = {
  tasks: { ...TASK_CHECKS, ...CONDITION_CHECKS, ...DETAIL_CHECKS },
  'tasks.tree': TREE_CHECKS,
  'tasks.stats': { ...STATS_CHECKS, ...CAUSE_CHECKS },
  workers: WORKER_CHECKS,
  events: EVENT_CHECKS,
  schedules: SCHEDULE_CHECKS,
  health: HEALTH_CHECKS,
  queues: QUEUE_CHECKS,
  components: COMPONENT_CHECKS,
  history: { ...HISTORY_CHECKS, ...ACTIVITY_CHECKS },
};

function partsIn(sources: MonitorSources): readonly string[] {
  return [
    ...partsOf(sources).map(([name]) => name),
    ...(sources.tasks?.getTaskTree ? ['tasks.tree'] : []),
    ...(sources.tasks?.getTaskStats ? ['tasks.stats'] : []),
  ].toSorted();
}

async function runCase(setup: ContractSetup, check: (bench: Bench) => Promise<void>): Promise<void> {
  const tries = setup.live ? TRIES_WHEN_LIVE : 1;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await onBench(setup, check);
    } catch (error) {
      if (attempt === tries) throw error;
    }
  }
}

/**
 * Returns the cases that a source must pass, for any test runner. They check shapes, filters, order, paging,
 * totals, tasks against their list rows, workflows from each of their tasks, statistics against the list, the
 * feed and its cursors, and reads that are aborted, concurrent or started after `close()`.
 *
 * @example for (const { name, run } of sourceContract({ parts: ['tasks', 'workers'], create })) test(name,
 *   run);
 *
 * @param setup the parts to check and how to create a source that has them
 * @returns cases that can run in any order; each creates and closes its own source
 * @throws TypeError when `parts` is empty or names an unknown part
 */
export function sourceContract(setup: ContractSetup): readonly SourceCase[] {
  const unknown = setup.parts.filter((part) => !Object.hasOwn(CHECKS_OF, part));
  if (unknown.length > 0 || setup.parts.length === 0) {
    throw new TypeError(`parts: write one or more of ${Object.keys(CHECKS_OF).join(', ')}`);
  }
  const cases = (prefix: string, checks: Checks) =>
    Object.entries(checks).map(([title, check]) => ({
      name: `${prefix}: ${title}`,
      run: () => runCase(setup, check),
    }));
  const declared = {
    'has exactly the named parts': async ({ sources }: Bench) => {
      const expected = [...new Set(setup.parts)].toSorted().join(', ');
      const actual = partsIn(sources).join(', ');
      if (actual !== expected) fail('parts of the source', expected, actual);
    },
  };
  return [
    ...cases('source', declared),
    ...[...new Set(setup.parts)].flatMap((part) => cases(part, CHECKS_OF[part])),
    ...cases('source', CONDUCT_CHECKS),
  ];
}
