/** Parameters of the list of tasks besides its exact filters, and which of them its sources support. */
import { allTexts, figure, flag, integer, moment, texts, type ValuesOf } from '../http/parameter.ts';
import type { Fault } from '../http/route.ts';
import { partsOf } from '../source/combined-part.ts';
import {
  type AllCapabilities,
  capabilitiesOf,
  commonCapabilities,
  TASK_FILTERS,
  TASK_SORTS,
  type TaskFilter,
} from '../source/task-query.ts';
import type {
  Comparison,
  ConditionFigure,
  ConditionText,
  TaskCondition,
  TaskQuery,
  TaskSort,
  TaskSource,
  TaskStatsQuery,
} from '../source.ts';
import type { TaskCapabilitiesBody } from '../wire.ts';

/** Maximum number of values of these parameters together. */
const MOST_TERMS = 20;

const prefix = (field: string) => texts(`Only tasks whose ${field} begins with this text.`);
const not = (field: string) => texts(`Excludes tasks with this ${field}.`);
const notPrefix = (field: string) => texts(`Excludes tasks whose ${field} begins with this text.`);
const above = (what: string) => figure(`Only tasks ${what} is above this.`);
const least = (what: string) => figure(`Only tasks ${what} is this or above.`);
const below = (what: string) => figure(`Only tasks ${what} is below this.`);
const most = (what: string) => figure(`Only tasks ${what} is this or below.`);
const RUNTIME = 'whose run time in seconds';
const WAIT = 'whose wait in seconds';
const RETRIES = 'whose number of retries';

/** Part of the query of the list. */
export const CONDITION_QUERY = {
  source: texts('Only tasks of the source with this name; other sources are not read.'),
  task_id: texts('Only the task with this id.'),
  task_id_prefix: prefix('id'),
  name_prefix: prefix('name'),
  worker_prefix: prefix('worker'),
  queue_prefix: prefix('queue'),
  not_state: not('state'),
  not_engine_state: not('engine state'),
  not_name: not('name'),
  not_name_prefix: notPrefix('name'),
  not_worker: not('worker'),
  not_worker_prefix: notPrefix('worker'),
  not_queue: not('queue'),
  not_queue_prefix: notPrefix('queue'),
  not_cause: texts('Excludes tasks that failed with this cause.'),
  not_source: texts('Excludes tasks of the source with this name, which is not read.'),
  not_task_id: not('id'),
  not_task_id_prefix: notPrefix('id'),
  runtime_gt: above(RUNTIME),
  runtime_gte: least(RUNTIME),
  runtime_lt: below(RUNTIME),
  runtime_lte: most(RUNTIME),
  wait_gt: above(WAIT),
  wait_gte: least(WAIT),
  wait_lt: below(WAIT),
  wait_lte: most(WAIT),
  retries_gt: above(RETRIES),
  retries_gte: least(RETRIES),
  retries_lt: below(RETRIES),
  retries_lte: most(RETRIES),
  q: allTexts(
    'Only tasks whose id, name, worker, args, kwargs, exception or result contain this text as shown, ignoring case. Adds `match` to each row.',
    200,
  ),
  not_q: allTexts('Only tasks that contain this text in none of the fields that `q` searches.', 200),
};

/** Exact filters that are combined with prefixes. */
type Exact = Readonly<Record<'name' | 'worker' | 'queue', readonly string[]>>;
type ConditionValues = ValuesOf<typeof CONDITION_QUERY> & Exact;
type ConditionName = keyof typeof CONDITION_QUERY;

/** All names, in the order of the documentation. */
const CONDITION_NAMES = Object.keys(CONDITION_QUERY) as readonly ConditionName[];

/** Checks the number of terms. @param faulty parameters with a fault of their own */
export function findConditionFaults(
  values: ConditionValues,
  faulty: ReadonlySet<string>,
  fault: Fault,
): void {
  let count = 0;
  for (const name of CONDITION_NAMES) {
    const value = values[name];
    count += Array.isArray(value) ? value.length : value === null ? 0 : 1;
    if (count <= MOST_TERMS) continue;
    if (!faulty.has(name)) {
      fault(name, `Write at most ${MOST_TERMS} terms in all: ${CONDITION_NAMES.join(', ')} count.`);
    }
    return;
  }
}

/** Converts these parameters to filters. */
export function conditionsOf(
  values: ConditionValues,
): Pick<TaskQuery, 'names' | 'workers' | 'queues' | 'conditions'> {
  const { name, worker, queue } = values;
  const { name_prefix: names, worker_prefix: workers, queue_prefix: queues } = values;
  return {
    // With a prefix, the exact values become alternatives in one condition.
    names: names.length === 0 ? name : [],
    workers: workers.length === 0 ? worker : [],
    queues: queues.length === 0 ? queue : [],
    conditions: Object.freeze([
      ...(names.length === 0 ? [] : text('name', name, names)),
      ...(workers.length === 0 ? [] : text('worker', worker, workers)),
      ...(queues.length === 0 ? [] : text('queue', queue, queues)),
      ...text('source', values.source),
      ...text('id', values.task_id, values.task_id_prefix),
      ...text('state', values.not_state, [], true),
      ...text('engineState', values.not_engine_state, [], true),
      ...text('name', values.not_name, values.not_name_prefix, true),
      ...text('worker', values.not_worker, values.not_worker_prefix, true),
      ...text('queue', values.not_queue, values.not_queue_prefix, true),
      ...text('cause', values.not_cause, [], true),
      ...text('source', values.not_source, [], true),
      ...text('id', values.not_task_id, values.not_task_id_prefix, true),
      ...(['runtime', 'wait', 'retries'] as const).flatMap((field) => ranges(field, values)),
    ]),
  };
}

function text(
  field: ConditionText,
  values: readonly string[],
  prefixes: readonly string[] = [],
  isNegated = false,
): readonly TaskCondition[] {
  return values.length + prefixes.length === 0 ? [] : [{ field, values, prefixes, isNegated }];
}

const COMPARISONS: readonly Comparison[] = ['gt', 'gte', 'lt', 'lte'];

function ranges(field: ConditionFigure, values: ConditionValues): readonly TaskCondition[] {
  return COMPARISONS.flatMap((comparison) => {
    const than = values[`${field}_${comparison}`];
    return than === null ? [] : [{ field, comparison, than }];
  });
}

/** Part of the query of the list. */
export const STATS_QUERY = {
  stats: integer(
    'Adds statistics over this many minutes. Beyond 1440, only `name`, `worker`, `queue`, `cause` and `source` may filter.',
    { minimum: 1, maximum: 129_600 },
  ),
  stats_step: integer('Length of one step of `stats` in seconds, a multiple of 60. At most 1500 steps.', {
    minimum: 60,
    maximum: 7_776_000,
  }),
  stats_until: moment('End of the window of `stats`. Default: now.'),
  stats_percentiles: flag('Adds percentiles to each step of `stats`, and histograms of run times and waits.'),
  stats_callers: flag(
    'Adds to `stats` which tasks sent the tasks of this `name`, and which tasks these sent.',
  ),
  stats_causes: integer('Adds up to this number of the most frequent failure causes to `stats`.', {
    minimum: 0,
    maximum: 1_000,
    default: 0,
  }),
};

/** Parameters of the list, by the filter that a source needs for them. The router itself answers `source`. */
const FILTER_OF = {
  state: 'states',
  engine_state: 'engineStates',
  name: 'names',
  worker: 'workers',
  queue: 'queues',
  cause: 'causes',
  root_id: 'rootId',
  parent_id: 'parentId',
  group_id: 'groupId',
  since: 'since',
  until: 'until',
} as const satisfies Readonly<Record<string, TaskFilter>>;

/** All parameters that filter the list, in the order of the documentation. */
export const FILTER_NAMES = [
  ...(Object.keys(FILTER_OF) as (keyof typeof FILTER_OF)[]),
  ...CONDITION_NAMES,
] as const;
type FilterName = (typeof FILTER_NAMES)[number];

type StatsWindowValues = ValuesOf<typeof STATS_QUERY>;
type Filters = Record<FilterName, readonly string[] | string | number | Date | null>;
type StatsValues = StatsWindowValues & Filters & Names;

/** Filters that select the names whose callers are requested. */
type Names = Record<'name' | 'name_prefix', readonly string[]>;

/** Beyond a day, statistics come from counts by name, worker and queue, or from the few tasks of a cause. */
export const COUNTED_MINUTES = 1_440;
const COUNTED: readonly FilterName[] = ['name', 'worker', 'queue', 'cause', 'source', 'not_source'];
const UNCOUNTED = FILTER_NAMES.filter((name) => !COUNTED.includes(name));
/** Maximum number of whole steps: the first and the last step may be incomplete. */
const MOST_STEPS = 1_499;

/** Checks that involve several parameters. @param faulty parameters with a fault of their own */
export function findStatsFaults(values: StatsValues, faulty: ReadonlySet<string>, fault: Fault): void {
  const { stats, stats_step: step } = values;
  if (stats === null) {
    if (faulty.has('stats')) return;
    for (const name of Object.keys(STATS_QUERY) as (keyof typeof STATS_QUERY)[]) {
      if (values[name]) fault(name, 'It is allowed only with stats.');
    }
    return;
  }
  if (step !== null && step % 60 !== 0) fault('stats_step', 'Write a multiple of 60.');
  else if (step !== null && (stats * 60) / step > MOST_STEPS) {
    fault(
      'stats_step',
      `Write at least ${Math.ceil(stats / MOST_STEPS) * 60}: a window has at most 1500 steps.`,
    );
  }
  if (values.stats_callers && (values.name.length !== 1 || values.name_prefix.length > 0)) {
    fault('stats_callers', 'Add exactly one name, and no name_prefix.');
  }
  const other = UNCOUNTED.find((name) => isGiven(values[name]));
  if (stats > COUNTED_MINUTES && other !== undefined) {
    fault(
      'stats',
      `Write at most 1440 with ${other}: longer windows can be filtered by name, worker, queue, cause and source.`,
    );
  }
}

/** The requested window. A time in the future counts as now. */
export function statsWindowOf(
  {
    stats_step: stepSeconds,
    stats_until: until,
    stats_percentiles: percentiles,
    stats_callers: callers,
    stats_causes: causes,
  }: StatsWindowValues,
  minutes: number,
  now: number,
): Omit<TaskStatsQuery, 'filter'> {
  const end = new Date(Math.min(until?.getTime() ?? now, now));
  return { minutes, now: end, stepSeconds, percentiles, callers, causes };
}

const TEXTS: readonly FilterName[] = ['q', 'not_q'];
/** Those that sources decide about. */
const OF_SOURCES = FILTER_NAMES.filter((name) => !/^(?:not_)?source$/.test(name));

type ListValues = Readonly<Record<string, unknown>> & { readonly sort: TaskSort };

/** What one of the sources supports. */
interface Able {
  readonly name: string;
  readonly can: AllCapabilities;
}

/** What lists of tasks support. */
export interface ListAbilities {
  /** For the body; `null`: everything. */
  readonly body: TaskCapabilitiesBody | null;
  /** Checks that every source supports the request. @param values of the parameters of the list */
  check(values: ListValues, fault: Fault): void;
}

/** What the sources of this part support. */
export function abilitiesOf(part: TaskSource | undefined): ListAbilities {
  const sources = (part === undefined ? [] : partsOf(part)).map(ableOf);
  const common = commonCapabilities(sources.map(({ can }) => can));
  const isWhole =
    common.sorts.length === TASK_SORTS.length &&
    common.filters.length === TASK_FILTERS.length &&
    common.search &&
    common.total;
  if (isWhole) return { body: null, check: () => {} };
  const body: TaskCapabilitiesBody = {
    sorts: [...common.sorts],
    filters: OF_SOURCES.filter((name) => !TEXTS.includes(name) && isAble(common, name)),
    search: common.search,
    total: common.total,
  };
  return { body, check: (values, fault) => findFaults({ sources, body }, values, fault) };
}

/** A source that does not know conditions can apply them if it can search. */
function ableOf({ name, capabilities, knowsConditions }: TaskSource): Able {
  const can = capabilitiesOf(capabilities);
  const decides = can.filters.includes('conditions') && (knowsConditions === true || can.search);
  const filters = can.filters.filter((filter) => filter !== 'conditions' || decides);
  return { name, can: { ...can, filters } };
}

function findFaults(
  { sources, body }: { readonly sources: readonly Able[]; readonly body: TaskCapabilitiesBody },
  values: ListValues,
  fault: Fault,
): void {
  const { sort } = values;
  const lacking = sources.find(({ can }) => !can.sorts.includes(sort));
  if (lacking !== undefined) {
    fault('sort', `The source ${lacking.name} cannot sort by this. Write one of: ${body.sorts.join(', ')}.`);
  }
  for (const name of OF_SOURCES.filter((one) => isGiven(values[one]))) {
    const without = sources.find(({ can }) => !isAble(can, name));
    if (without === undefined) continue;
    if (TEXTS.includes(name)) fault(name, `The source ${without.name} cannot search texts.`);
    else fault(name, `The source ${without.name} cannot filter by this. ${possible(body.filters)}`);
  }
}

function isAble({ filters, search }: AllCapabilities, name: FilterName): boolean {
  if (TEXTS.includes(name)) return search;
  return filters.includes(name in FILTER_OF ? FILTER_OF[name as keyof typeof FILTER_OF] : 'conditions');
}

const isGiven = (value: unknown): boolean => (Array.isArray(value) ? value.length > 0 : value !== null);

function possible(filters: readonly string[]): string {
  return filters.length === 0 ? 'It has no filters.' : `Supported filters: ${filters.join(', ')}.`;
}
