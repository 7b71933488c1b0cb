/** Random conditions of a list; few of them match nothing. */
import fc from 'fast-check';
import type { TaskCondition } from '../../src/source.ts';

const text = (field: 'state' | 'name' | 'worker' | 'queue' | 'id', values: string[], prefixes: string[]) =>
  fc
    .record({ values: fc.subarray(values), prefixes: fc.subarray(prefixes), isNegated: fc.boolean() })
    .filter((one) => one.values.length + one.prefixes.length > 0)
    .map((one): TaskCondition => ({ field, ...one }));

const figure = (field: 'runtime' | 'wait' | 'retries', than: number[]) =>
  fc
    .record({ comparison: fc.constantFrom('gt', 'gte', 'lt', 'lte'), than: fc.constantFrom(...than) })
    .map((one): TaskCondition => ({ field, ...one }));

/** By the words that the tasks have which the tests of lists draw. */
const CONDITION: fc.Arbitrary<TaskCondition> = fc.oneof(
  text('state', ['SUCCESS', 'STARTED', 'PROGRESS', 'NONE'], ['P', 'RE']),
  text('name', ['lab.add', 'zoo', 'unknown'], ['lab.', 'l', 'L', '_', 'é', '%']),
  text('worker', ['w1@a', 'w2@b'], ['w1', 'w', 'W']),
  text('queue', ['q1', 'q2'], ['q', 'x']),
  text('id', ['t1', 't2', 'nobody'], ['t1', 't', 'T2']),
  fc
    .boolean()
    .map((isNegated): TaskCondition => ({ field: 'engineState', values: ['x'], prefixes: [], isNegated })),
  figure('runtime', [0.5, 1, 1.5]),
  figure('wait', [0, 0.005, 1]),
  figure('retries', [0, 1]),
);

/** Usually none. */
export const CONDITIONS = fc.oneof(
  { weight: 1, arbitrary: fc.constant<TaskCondition[]>([]) },
  { weight: 2, arbitrary: fc.array(CONDITION, { minLength: 1, maxLength: 3 }) },
);
