/** The fields of a search, and the corresponding parameters of the API. */

/** A field with texts. */
export interface TextField {
  readonly kind: 'text';
  readonly parameter: string;
  /** Whether it supports prefixes (`mail.*`) and exclusion. */
  readonly hasPrefix: boolean;
  readonly canNegate: boolean;
  readonly example: string;
}

/** A field with a figure. */
export interface FigureField {
  readonly kind: 'figure';
  readonly parameter: string;
  /** Whether it is a duration, which has units. */
  readonly isTime: boolean;
  readonly example: string;
}

export type Field = TextField | FigureField;

const text = (parameter: string, example: string, hasPrefix: boolean, canNegate = true): TextField => ({
  kind: 'text',
  parameter,
  hasPrefix,
  canNegate,
  example,
});
const figure = (parameter: string, example: string, isTime: boolean): FigureField => ({
  kind: 'figure',
  parameter,
  isTime,
  example,
});

/** By name, in the order in which a search is written. */
export const FIELDS: Readonly<Record<string, Field>> = {
  state: text('state', 'state:FAILURE', false),
  name: text('name', 'name:mail.*', true),
  queue: text('queue', 'queue:default', true),
  worker: text('worker', '-worker:celery@a', true),
  source: text('source', 'source:celery', false),
  cause: text('cause', 'cause:1f3a9c', false),
  id: text('task_id', 'id:3f2a*', true),
  root: text('root_id', 'root:3f2a9c…', false, false),
  text: text('q', '-text:timeout', false),
  runtime: figure('runtime', 'runtime>5s', true),
  wait: figure('wait', 'wait>=1min', true),
  retries: figure('retries', 'retries>0', false),
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
  const { parameter } = field;
  if (field.kind === 'figure') return Object.values(SIGNS).map((end) => `${parameter}_${end}`);
  const all = field.hasPrefix ? [parameter, `${parameter}_prefix`] : [parameter];
  const own = parameter === 'state' ? [...all, 'engine_state'] : all;
  return field.canNegate ? [...own, ...own.map((name) => `not_${name}`)] : own;
});
