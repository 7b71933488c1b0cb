import type {
  ComponentSource,
  HealthSource,
  HistorySource,
  MonitorSources,
  ScheduleSource,
  SourcePart,
  TaskEventSource,
  TaskSource,
  WorkerSource,
} from '../source.ts';
import { isRecord, nearest, wrong } from './check.ts';

/** Methods of a part: `true` for those that it must have. */
type Methods<Part extends SourcePart> = Readonly<Record<Exclude<keyof Part, 'name' | 'status'>, boolean>>;

const TASKS: Methods<TaskSource> = {
  listTasks: true,
  getTask: true,
  getTaskTree: false,
  getTaskStats: false,
};
const WORKERS: Methods<WorkerSource> = { listWorkers: true };
const EVENTS: Methods<TaskEventSource> = { listEvents: true };
const SCHEDULES: Methods<ScheduleSource> = { listSchedules: true };
const HEALTH: Methods<HealthSource> = { checkBroker: false, checkBackend: false, checkWorkers: false };
const COMPONENTS: Methods<ComponentSource> = { listComponents: true };
const HISTORY: Methods<HistorySource> = { getHistoryStats: true };

const PARTS: Readonly<Record<Exclude<keyof MonitorSources, 'close'>, Readonly<Record<string, boolean>>>> = {
  tasks: TASKS,
  workers: WORKERS,
  events: EVENTS,
  schedules: SCHEDULES,
  health: HEALTH,
  components: COMPONENTS,
  history: HISTORY,
};

const NAME = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * Checks that every part can be called. The bundle is taken as it is, for its methods may need `this`;
 * it may have members of its own, such as `record`.
 *
 * @throws TypeError that says what to write
 */
export function resolveSources(value: unknown): MonitorSources {
  if (value === undefined) return {};
  if (!isRecord(value)) {
    throw wrong('sources', 'an object such as { tasks, workers } or what memorySources() returns', value);
  }
  for (const key of Object.keys(value)) {
    if (key === 'close' || Object.hasOwn(PARTS, key)) continue;
    const meant = nearest(key, Object.keys(PARTS));
    if (meant !== null) {
      throw new TypeError(
        `createMonitorRouter: 'sources.${key}' is not a part of a source. Did you mean '${meant}'?`,
      );
    }
  }
  for (const [key, methods] of Object.entries(PARTS)) {
    if (value[key] !== undefined) checkPart(`sources.${key}`, value[key], methods);
  }
  if (value.close !== undefined && typeof value.close !== 'function') {
    throw wrong('sources.close', 'a function', value.close);
  }
  return value;
}

function checkPart(place: string, part: unknown, methods: Readonly<Record<string, boolean>>): void {
  if (!isRecord(part)) {
    throw wrong(place, `an object with a name and ${Object.keys(methods).join(', ')}`, part);
  }
  if (typeof part.name !== 'string' || !NAME.test(part.name)) {
    throw wrong(`${place}.name`, "1 to 64 of A-Z a-z 0-9 _ -, such as 'celery'", part.name);
  }
  for (const [method, required] of Object.entries({ ...methods, status: false })) {
    const given = part[method];
    if (typeof given !== 'function' && (required || given !== undefined)) {
      throw wrong(`${place}.${method}`, 'a function', given);
    }
  }
}
