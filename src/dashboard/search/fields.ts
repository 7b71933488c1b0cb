/** The fields of a search, and the corresponding parameters of the API. */

/** A field of a search. */
export interface Field {
  /** Whether its values are texts or numbers. */
  readonly kind: 'text' | 'figure';
  readonly parameter: string;
  readonly example: string;
  /** Whether a text may be a prefix (`mail.*`). Default false. */
  readonly hasPrefix?: boolean;
  /** Whether a text can be excluded. Default true. */
  readonly canNegate?: boolean;
  /** Whether a number is a duration, which has units. Default false. */
  readonly isTime?: boolean;
}

/** By name, in the order in which a search is written. */
export const FIELDS: Readonly<Record<string, Field>> = {
  state: { kind: 'text', parameter: 'state', example: 'state:FAILURE' },
  name: { kind: 'text', parameter: 'name', example: 'name:mail.*', hasPrefix: true },
  queue: { kind: 'text', parameter: 'queue', example: 'queue:default', hasPrefix: true },
  worker: { kind: 'text', parameter: 'worker', example: '-worker:celery@a', hasPrefix: true },
  source: { kind: 'text', parameter: 'source', example: 'source:celery' },
  cause: { kind: 'text', parameter: 'cause', example: 'cause:1f3a9c' },
  id: { kind: 'text', parameter: 'task_id', example: 'id:3f2a*', hasPrefix: true },
  root: { kind: 'text', parameter: 'root_id', example: 'root:3f2a9c…', canNegate: false },
  text: { kind: 'text', parameter: 'q', example: '-text:timeout' },
  runtime: { kind: 'figure', parameter: 'runtime', example: 'runtime>5s', isTime: true },
  wait: { kind: 'figure', parameter: 'wait', example: 'wait>=1min', isTime: true },
  retries: { kind: 'figure', parameter: 'retries', example: 'retries>0' },
};

/** States with BullMQ's names; the API has a separate parameter for them. */
export const ENGINE_STATES: readonly string[] = [
  'waiting',
  'prioritized',
  'delayed',
  'paused',
  'waiting-children',
  'active',
  'completed',
  'failed',
  'removed',
];

/** The comparisons of figures, and the endings of their parameters. */
export const SIGNS: Readonly<Record<string, string>> = { '>=': 'gte', '>': 'gt', '<=': 'lte', '<': 'lt' };

/** The units in seconds. */
export const UNITS: Readonly<Record<string, number>> = { ms: 0.001, s: 1, min: 60, h: 3_600 };

/** Most terms that a search may have. */
export const MOST_TERMS = 20;
/** Longest text that is searched for, in characters. */
export const LONGEST_TEXT = 200;

/** The parameters that a search consists of. Others, such as `parent_id` and the period, stay as they are. */
export const SEARCH_PARAMETERS: readonly string[] = Object.values(FIELDS).flatMap((field) => {
  const { kind, parameter, hasPrefix = false, canNegate = true } = field;
  if (kind === 'figure') return Object.values(SIGNS).map((end) => `${parameter}_${end}`);
  const all = hasPrefix ? [parameter, `${parameter}_prefix`] : [parameter];
  const own = parameter === 'state' ? [...all, 'engine_state'] : all;
  return canNegate ? [...own, ...own.map((name) => `not_${name}`)] : own;
});
