import {
  type KeysOf,
  MONITOR,
  nearestWord,
  readBoolean,
  refuseUnknownKeys,
  wrongOption,
} from '../check-options.ts';
import { overlapOf } from '../source/bundle-mark.ts';
import { TASK_FILTERS, TASK_SORTS } from '../source/task-capabilities.ts';
import type {
  ComponentSource,
  HealthSource,
  HistorySource,
  MetricsSource,
  MonitorSources,
  QueueSource,
  ScheduleSource,
  SourcePart,
  TaskCapabilities,
  TaskEventSource,
  TaskSource,
  WorkerSource,
} from '../source.ts';
import { isRecord } from '../values.ts';

/** Methods of a part: `true` for required ones. */
type Methods<Part extends SourcePart> = Readonly<Record<MethodOf<Part>, boolean>>;
type MethodOf<Part extends SourcePart> = Exclude<
  keyof Part,
  keyof SourcePart | 'knowsConditions' | 'capabilities'
>;

const TASKS: Methods<TaskSource> = {
  listTasks: true,
  getTask: true,
  getTaskTree: false,
  getTaskStats: false,
  getActivity: false,
};
const WORKERS: Methods<WorkerSource> = { listWorkers: true };
const EVENTS: Methods<TaskEventSource> = { listEvents: true };
const SCHEDULES: Methods<ScheduleSource> = { listSchedules: true };
const HEALTH: Methods<HealthSource> = { checkBroker: false, checkBackend: false, checkWorkers: false };
const QUEUES: Methods<QueueSource> = { listQueues: true };
const COMPONENTS: Methods<ComponentSource> = { listComponents: true };
const HISTORY: Methods<HistorySource> = { getHistoryStats: true, openNotes: false };
const METRICS: Methods<MetricsSource> = { openMeter: true };

const PARTS: Readonly<Record<Exclude<keyof MonitorSources, 'close'>, Readonly<Record<string, boolean>>>> = {
  tasks: TASKS,
  workers: WORKERS,
  events: EVENTS,
  schedules: SCHEDULES,
  health: HEALTH,
  queues: QUEUES,
  components: COMPONENTS,
  history: HISTORY,
  metrics: METRICS,
};

/** The parts of a source. `metrics` is an option of the monitor, too. */
export const PART_NAMES: readonly string[] = Object.keys(PARTS);

const NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** What is checked, for error messages. */
interface Checked {
  /** Name of the function that was called. */
  readonly caller: string;
  /** Path of the checked value, such as `sources`. */
  readonly option: string;
}

/** Checks the sources of a router. Default: an empty bundle. */
export function resolveSources(value: unknown): MonitorSources {
  return value === undefined ? {} : checkSources(value, { caller: MONITOR, option: 'sources' });
}

/**
 * Checks that every part can be called. Returns the bundle itself, since its methods may need `this`. The bundle
 * may have members of its own, such as `record`.
 *
 * @throws TypeError that says what to write
 */
export function checkSources(value: unknown, checked: Checked): MonitorSources {
  const { caller, option } = checked;
  if (Array.isArray(value)) {
    throw new TypeError(
      `${caller}: '${option}' must be one source, not an array. Write combineSources(a, b), from 'express-task-monitor'.`,
    );
  }
  if (!isRecord(value)) {
    throw wrongOption(
      caller,
      option,
      'an object such as { tasks, workers } or what memorySources() returns',
      value,
    );
  }
  refuseOverlap(value, checked);
  for (const key of Object.keys(value)) {
    if (key === 'close' || Object.hasOwn(PARTS, key)) continue;
    const meant = nearestWord(key, Object.keys(PARTS));
    if (meant !== null) {
      throw new TypeError(
        `${caller}: '${option}.${key}' is not a part of a source. Did you mean '${meant}'?`,
      );
    }
  }
  for (const [key, methods] of Object.entries(PARTS)) {
    if (value[key] !== undefined) checkPart({ caller, option: `${option}.${key}` }, value[key], methods);
  }
  if (isRecord(value.tasks))
    checkCapabilities(caller, `${option}.tasks.capabilities`, value.tasks.capabilities);
  if (value.close !== undefined && typeof value.close !== 'function') {
    throw wrongOption(caller, `${option}.close`, 'a function', value.close);
  }
  return value;
}

function refuseOverlap(sources: object, { caller, option }: Checked): void {
  const [part] = overlapOf(sources);
  if (part === undefined) return;
  throw new TypeError(
    `${caller}: '${option}' has been spread from bundles that both have '${part}', so one of them would not be shown. Write combineSources(a, b), from 'express-task-monitor'; or, to replace one part, { ...a, ${part}: b.${part} }.`,
  );
}

function checkPart(
  { caller, option }: Checked,
  part: unknown,
  methods: Readonly<Record<string, boolean>>,
): void {
  if (!isRecord(part)) {
    throw wrongOption(caller, option, `an object with a name and ${Object.keys(methods).join(', ')}`, part);
  }
  if (typeof part.name !== 'string' || !NAME.test(part.name)) {
    throw wrongOption(caller, `${option}.name`, "1 to 64 of A-Z a-z 0-9 _ -, such as 'celery'", part.name);
  }
  for (const [method, required] of Object.entries({ ...methods, status: false })) {
    const given = part[method];
    if (typeof given !== 'function' && (required || given !== undefined)) {
      throw wrongOption(caller, `${option}.${method}`, 'a function', given);
    }
  }
}

const KEYS: KeysOf<TaskCapabilities> = { sorts: true, filters: true, search: true, total: true };

/**
 * Checks the `capabilities` of a source of tasks.
 *
 * @param option its path, such as `sources.tasks.capabilities`
 * @throws TypeError that says what to write
 */
function checkCapabilities(caller: string, option: string, value: unknown): void {
  if (value === undefined) return;
  if (!isRecord(value)) throw wrongOption(caller, option, 'an object such as { search: false }', value);
  refuseUnknownKeys(caller, value, KEYS, `${option}.`);
  checkSome(caller, `${option}.sorts`, value.sorts, TASK_SORTS);
  checkSome(caller, `${option}.filters`, value.filters, TASK_FILTERS);
  if (Array.isArray(value.sorts) && !value.sorts.includes('timestamp')) {
    throw new TypeError(
      `${caller}: '${option}.sorts' must include 'timestamp', the order of every first page.`,
    );
  }
  readBoolean(caller, `${option}.search`, value.search, true);
  readBoolean(caller, `${option}.total`, value.total, true);
}

function checkSome(caller: string, option: string, value: unknown, known: readonly string[]): void {
  if (value === undefined) return;
  if (!Array.isArray(value) || !value.every((one) => known.includes(one))) {
    throw wrongOption(caller, option, `an array of some of ${known.join(', ')}`, value);
  }
}
