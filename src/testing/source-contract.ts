/** The contract suite: everything that `createMonitorRouter` expects from a source. */
import { capabilitiesOf } from '../source/task-query.ts';
import type { MonitorSources, TaskFilter } from '../source.ts';
import {
  type Bench,
  type Checks,
  type ContractPart,
  type ContractSetup,
  NothingToCheck,
  onBench,
  partsOf,
} from './bench.ts';
import { CONDUCT_CHECKS } from './conduct-cases.ts';
import { DETAIL_CHECKS, TREE_CHECKS } from './detail-cases.ts';
import {
  ACTIVITY_CHECKS,
  COMPONENT_CHECKS,
  EVENT_CHECKS,
  HEALTH_CHECKS,
  HISTORY_CHECKS,
  QUEUE_CHECKS,
  SCHEDULE_CHECKS,
  WORKER_CHECKS,
} from './part-cases.ts';
import { fail } from './shape.ts';
import { CAUSE_CHECKS, STATS_CHECKS } from './stats-cases.ts';
import { CONDITION_CHECKS, TASK_CHECKS } from './task-cases.ts';

/** One case for any test runner: `test(name, run)`. vitest and node:test then also report what was skipped. */
export interface SourceCase {
  /** The expected behaviour, such as `tasks: sorts by each field in both orders …`. */
  readonly name: string;
  /**
   * Resolves when the source behaves as named; otherwise rejects with an AssertionError that names the value
   * and what is wrong with it.
   *
   * A case for which the source has no data or no method calls `context.skip` with the reason, and proves nothing.
   * The contexts that vitest and node:test pass to a test have this method. Without it, a warning of the process
   * (`ExpressTaskMonitorWarning`) gives the reason.
   *
   * @param context what the test runner passes to the test
   */
  run(context?: { skip?(reason: string): unknown }): Promise<void>;
  /**
   * Why the case does not apply: what the source does not support, by its `capabilities`. `null`: run it; what it
   * finds there can still be too little (see `run`).
   */
  readonly skip: string | null;
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

/** What cases need in addition to a list. */
const NEEDS: Readonly<Record<string, readonly (TaskFilter | 'search')[]>> = {
  'combines filters: all of them must match': ['names', 'workers', 'states'],
  'matches q by search() alone': ['search'],
  'treats since as inclusive and until as exclusive': ['since', 'until'],
  'pages through filtered rows with a small scan limit': ['search'],
  'lists the failures of a cause, and none of an unknown one': ['causes'],
  'meets all conditions at once, beside filters and texts': ['conditions', 'search'],
  'applies the filters': ['states'],
  'says which tasks sent those of a name, and which ones they sent': ['names'],
  'has no other causes than the list is filtered by': ['causes'],
};

/** What a case needs and the source does not support. */
function lackOf(title: string, { capabilities }: ContractSetup): string | null {
  const { filters, search } = capabilitiesOf(capabilities);
  const isCondition = Object.hasOwn(CONDITION_CHECKS, title);
  // A source that does not list conditions applies them with its search.
  const decides =
    capabilities?.filters === undefined ? (['conditions', 'search'] as const) : (['conditions'] as const);
  const needs = NEEDS[title] ?? (isCondition ? decides : []);
  const lacking = needs.find((need) => (need === 'search' ? !search : !filters.includes(need)));
  if (lacking === undefined) return null;
  return lacking === 'search' ? 'The source cannot search.' : `The source cannot filter by ${lacking}.`;
}

function partsIn(sources: MonitorSources): readonly string[] {
  return [
    ...partsOf(sources).map(([name]) => name),
    ...(sources.tasks?.getTaskTree ? ['tasks.tree'] : []),
    ...(sources.tasks?.getTaskStats ? ['tasks.stats'] : []),
  ].toSorted();
}

/** Resolves to the reason when the source gives the case nothing to check. */
async function runCase(setup: ContractSetup, check: (bench: Bench) => Promise<void>): Promise<string | null> {
  const tries = setup.live ? TRIES_WHEN_LIVE : 1;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await onBench(setup, check);
      return null;
    } catch (error) {
      if (error instanceof NothingToCheck) return error.message;
      if (attempt === tries) throw error;
    }
  }
}

type CaseContext = Parameters<SourceCase['run']>[0];

function reportSkip(name: string, reason: string, context: CaseContext): void {
  if (typeof context?.skip === 'function') context.skip(reason);
  else process.emitWarning(`Not checked: ${name}. ${reason}`, { type: 'ExpressTaskMonitorWarning' });
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
    Object.entries(checks).map(([title, check]): SourceCase => {
      const name = `${prefix}: ${title}`;
      const skip = lackOf(title, setup);
      // With a default: a runner passes a callback to a function that has one required parameter.
      const run = async (context: CaseContext = undefined) => {
        const reason = skip ?? (await runCase(setup, check));
        if (reason !== null) reportSkip(name, reason, context);
      };
      return { name, run, skip };
    });
  const declared = {
    'has exactly the named parts': async ({ sources }: Bench) => {
      const expected = [...new Set(setup.parts)].toSorted().join(', ');
      const actual = partsIn(sources).join(', ');
      if (actual !== expected) fail('parts of the source', expected, actual);
    },
  };
  const capable = {
    'has exactly the named capabilities': async ({ sources, can }: Bench) => {
      const [expected, actual] = [can, capabilitiesOf(sources.tasks?.capabilities)].map((one) =>
        JSON.stringify(one),
      );
      if (actual !== expected) fail('capabilities of tasks', `${expected}`, actual);
    },
  };
  return [
    ...cases('source', declared),
    ...(setup.parts.includes('tasks') ? cases('tasks', capable) : []),
    ...[...new Set(setup.parts)].flatMap((part) => cases(part, CHECKS_OF[part])),
    ...cases('source', CONDUCT_CHECKS),
  ];
}
