import {
  checked,
  flag,
  isSourceName,
  nearestWord,
  type OptionPlace,
  type OptionTable,
  type Read,
  readOptions,
  wrongOption,
} from '../check-options.ts';
import { masksOtherwise, overlapOf } from '../source/bundles.ts';
import { TASK_FILTERS, TASK_SORTS } from '../source/task-query.ts';
import type { MonitorSources, SourcePart, TaskCapabilities } from '../source.ts';
import { isRecord } from '../values.ts';

/** Methods of a part: `true` for required ones. */
type Methods<Part> = Readonly<
  Record<Exclude<keyof Part, keyof SourcePart | 'knowsConditions' | 'capabilities'>, boolean>
>;
type Parts = Required<Omit<MonitorSources, 'close' | 'redact'>>;

const PARTS: { readonly [Name in keyof Parts]: Methods<Parts[Name]> } = {
  tasks: { listTasks: true, getTask: true, getTaskTree: false, getTaskStats: false },
  workers: { listWorkers: true },
  events: { listEvents: true },
  schedules: { listSchedules: true },
  health: { checkBroker: false, checkBackend: false, checkWorkers: false },
  queues: { listQueues: true },
  components: { listComponents: true },
  history: { getHistoryStats: true },
  experimental: { getActivity: false, openMeter: false, openNotes: false },
};

/** The parts of a source. */
export const PART_NAMES = Object.keys(PARTS) as readonly (keyof Parts)[];

const MEMBERS: readonly string[] = [...PART_NAMES, 'redact'];

/** The option `sources` of a router. Default: an empty bundle. */
export const readSources: Read<MonitorSources> = (given = {}, place) => checkSources(given, place);

/**
 * Checks that every part can be called. Returns the bundle itself, since its methods may need `this`. The bundle
 * may have members of its own, such as `record`.
 *
 * @throws TypeError that says what to write
 */
export function checkSources(value: unknown, place: OptionPlace): MonitorSources {
  const { caller, option } = place;
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
  refuseOverlap(value, place);
  if (masksOtherwise(value)) {
    throw new TypeError(
      `${caller}: '${option}.redact' comes too late for a source that masks its own texts. Write it as an option of that source, such as celerySources({ redact }), or show several with combineSources(a, b).`,
    );
  }
  for (const key of Object.keys(value)) {
    if (key === 'close' || MEMBERS.includes(key)) continue;
    const meant = nearestWord(key, MEMBERS);
    if (meant !== null) {
      throw new TypeError(
        `${caller}: '${option}.${key}' is not a part of a source. Did you mean '${meant}'?`,
      );
    }
  }
  for (const [key, methods] of Object.entries(PARTS)) {
    if (value[key] !== undefined) checkPart({ caller, option: `${option}.${key}` }, value[key], methods);
  }
  if (isRecord(value.tasks) && value.tasks.capabilities !== undefined)
    checkCapabilities(caller, `${option}.tasks.capabilities`, value.tasks.capabilities);
  if (value.close !== undefined && typeof value.close !== 'function') {
    throw wrongOption(caller, `${option}.close`, 'a function', value.close);
  }
  return value;
}

function refuseOverlap(sources: object, { caller, option }: OptionPlace): void {
  const [part] = overlapOf(sources);
  if (part === undefined) return;
  throw new TypeError(
    `${caller}: '${option}' has been spread from bundles that both have '${part}', so one of them would not be shown. Write combineSources(a, b), from 'express-task-monitor'; or, to replace one part, { ...a, ${part}: b.${part} }.`,
  );
}

function checkPart(
  { caller, option }: OptionPlace,
  part: unknown,
  methods: Readonly<Record<string, boolean>>,
): void {
  if (!isRecord(part)) {
    throw wrongOption(caller, option, `an object with a name and ${Object.keys(methods).join(', ')}`, part);
  }
  if (!isSourceName(part.name)) {
    throw wrongOption(caller, `${option}.name`, "1 to 64 of A-Z a-z 0-9 _ -, such as 'celery'", part.name);
  }
  for (const [method, required] of Object.entries({ ...methods, status: false })) {
    const given = part[method];
    if (typeof given !== 'function' && (required || given !== undefined)) {
      throw wrongOption(caller, `${option}.${method}`, 'a function', given);
    }
  }
}

const CAPABILITIES = {
  sorts: someOf(TASK_SORTS),
  filters: someOf(TASK_FILTERS),
  search: flag(true),
  total: flag(true),
} satisfies OptionTable<TaskCapabilities>;

/**
 * Checks the `capabilities` of a source of tasks.
 *
 * @param option its path, such as `sources.tasks.capabilities`
 * @throws TypeError that says what to write
 */
function checkCapabilities(caller: string, option: string, value: unknown): void {
  const { sorts } = readOptions(caller, value, CAPABILITIES, { example: '{ search: false }', group: option });
  if (sorts !== null && !sorts.includes('timestamp')) {
    throw new TypeError(
      `${caller}: '${option}.sorts' must include 'timestamp', the order of every first page.`,
    );
  }
}

function someOf(known: readonly string[]): Read<readonly string[] | null> {
  const areKnown = (given: unknown): given is readonly string[] =>
    Array.isArray(given) && given.every((one) => known.includes(one));
  return checked(areKnown, `an array of some of ${known.join(', ')}`, null);
}
