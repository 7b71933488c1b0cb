/** Conditions of a list of tasks in addition to its exact filters, as data. */

/**
 * Fields whose text can be compared, by their names in a `Task`; `cause` is the id of its cause, and `source` is the
 * name of the source.
 */
export type ConditionText = 'state' | 'engineState' | 'name' | 'worker' | 'queue' | 'cause' | 'id' | 'source';

/** Figures that can be compared: `runtime` and `wait` in seconds, `retries`. */
export type ConditionFigure = 'runtime' | 'wait' | 'retries';

/** How a figure is compared: above, at least, below, at most. */
export type Comparison = 'gt' | 'gte' | 'lt' | 'lte';

/** A text is one of some values, or begins with one of some prefixes. Both are literal and case-sensitive. */
export interface TextCondition {
  readonly field: ConditionText;
  readonly values: readonly string[];
  readonly prefixes: readonly string[];
  /** Whether the task must have none of them. A task whose text is unknown has none. */
  readonly isNegated: boolean;
}

/** A figure is in a range. An unknown figure is in no range. */
export interface FigureCondition {
  readonly field: ConditionFigure;
  readonly comparison: Comparison;
  readonly than: number;
}

/** A condition that a task must meet. Check it with `passesConditions`. */
export type TaskCondition = TextCondition | FigureCondition;

/** Whether a condition is about a figure. */
export function isFigureCondition(condition: TaskCondition): condition is FigureCondition {
  return 'comparison' in condition;
}
