/** Parameters that search the list of tasks in addition to its exact filters. */
import { allTexts, figure, texts, type ValuesOf } from '../http/parameter.ts';
import type { Fault } from '../http/route.ts';
import type { Comparison, ConditionFigure, ConditionText, TaskCondition, TaskQuery } from '../source.ts';

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
type Values = ValuesOf<typeof CONDITION_QUERY> & Exact;
type ConditionName = keyof typeof CONDITION_QUERY;

/** All names, in the order of the documentation. */
export const CONDITION_NAMES = Object.keys(CONDITION_QUERY) as readonly ConditionName[];

/** Checks the number of terms. @param faulty parameters with a fault of their own */
export function findConditionFaults(values: Values, faulty: ReadonlySet<string>, fault: Fault): void {
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
export function conditionsOf(values: Values): Pick<TaskQuery, 'names' | 'workers' | 'queues' | 'conditions'> {
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

function ranges(field: ConditionFigure, values: Values): readonly TaskCondition[] {
  return COMPARISONS.flatMap((comparison) => {
    const than = values[`${field}_${comparison}`];
    return than === null ? [] : [{ field, comparison, than }];
  });
}
