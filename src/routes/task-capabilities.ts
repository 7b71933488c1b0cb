/** What the sources of a monitor support in lists of tasks, and what a request requires. */
import type { Fault } from '../http/route.ts';
import { partsOf } from '../source/combined-part.ts';
import {
  type AllCapabilities,
  capabilitiesOf,
  commonCapabilities,
  TASK_FILTERS,
  TASK_SORTS,
  type TaskFilter,
} from '../source/task-capabilities.ts';
import type { TaskSort, TaskSource } from '../source.ts';
import type { TaskCapabilitiesBody } from '../wire.ts';
import { CONDITION_NAMES } from './task-conditions.ts';

/** Parameters of the list, by the filter that a source needs for them. The router itself answers `source`. */
const FILTER_OF: Readonly<Record<string, TaskFilter>> = {
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
};
const EXACT = Object.keys(FILTER_OF);
const TEXTS = ['q', 'not_q'];
const CONDITIONS = CONDITION_NAMES.filter((name) => !TEXTS.includes(name) && !/^(?:not_)?source$/.test(name));

type Values = Readonly<Record<string, unknown>> & { readonly sort: TaskSort };

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
  check(values: Values, fault: Fault): void;
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
  const filters = EXACT.filter((name) => common.filters.includes(FILTER_OF[name] as TaskFilter));
  const body: TaskCapabilitiesBody = {
    sorts: [...common.sorts],
    filters: [...filters, ...(common.filters.includes('conditions') ? CONDITIONS : [])],
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
  values: Values,
  fault: Fault,
): void {
  const { sort } = values;
  const lacking = sources.find(({ can }) => !can.sorts.includes(sort));
  if (lacking !== undefined) {
    fault('sort', `The source ${lacking.name} cannot sort by this. Write one of: ${body.sorts.join(', ')}.`);
  }
  for (const name of [...EXACT, ...CONDITIONS, ...TEXTS].filter((one) => isGiven(values[one]))) {
    const without = sources.find(({ can }) => !isAble(can, name));
    if (without === undefined) continue;
    if (TEXTS.includes(name)) fault(name, `The source ${without.name} cannot search texts.`);
    else fault(name, `The source ${without.name} cannot filter by this. ${possible(body.filters)}`);
  }
}

function isAble({ filters, search }: AllCapabilities, name: string): boolean {
  if (TEXTS.includes(name)) return search;
  return filters.includes(FILTER_OF[name] ?? 'conditions');
}

const isGiven = (value: unknown): boolean => (Array.isArray(value) ? value.length > 0 : value !== null);

function possible(filters: readonly string[]): string {
  return filters.length === 0 ? 'It has no filters.' : `Supported filters: ${filters.join(', ')}.`;
}
