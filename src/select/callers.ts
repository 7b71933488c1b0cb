/** Which tasks send those that are summed up, and which tasks these send, by name. */
import { type Steps, sortInSteps } from '../scheduler.ts';
import type { TaskCaller, TaskStats } from '../source.ts';

/** Maximum number of names in the result. */
const MAX_NAMES = 50;
/** Relatives that are counted between two pauses. */
const AT_ONCE = 128;

/** A task, and the one that sent it. */
export interface SentTask {
  readonly id: string;
  /** `null`: nobody knows, or no task did. */
  readonly parentId: string | null;
}

/** Where the names of relatives are found. */
export interface FamilyNames {
  /** The name of a task; `null`: nobody knows. */
  nameOf(id: string): string | null;
  /** The names of the tasks that a task sent; `null` for one whose name nobody knows. */
  namesSentBy(id: string): Iterable<string | null>;
}

/** What statistics have of callers. */
export type CallerFigures = Required<Pick<TaskStats, 'callers' | 'callees'>>;

/** Of neither anything is known. */
export const UNKNOWN_CALLERS: CallerFigures = { callers: null, callees: null };

/** Counts the relatives whose names are known. @param tasks those that are summed up */
export function* countCallers(tasks: readonly SentTask[], names: FamilyNames): Steps<CallerFigures> {
  const [callers, callees] = [new Map<string, number>(), new Map<string, number>()];
  let count = 0;
  for (const { id, parentId } of tasks) {
    if (parentId !== null) addName(callers, names.nameOf(parentId));
    for (const name of names.namesSentBy(id)) {
      addName(callees, name);
      if (++count % AT_ONCE === 0) yield;
    }
    if (++count % AT_ONCE === 0) yield;
  }
  return { callers: yield* mostFrequent(callers), callees: yield* mostFrequent(callees) };
}

function addName(counts: Map<string, number>, name: string | null): void {
  if (name !== null) counts.set(name, (counts.get(name) ?? 0) + 1);
}

function* mostFrequent(counts: ReadonlyMap<string, number>): Steps<readonly TaskCaller[]> {
  const sorted = yield* sortInSteps([...counts], ([a, n], [b, m]) => m - n || (a < b ? -1 : 1), MAX_NAMES);
  return sorted.map(([name, count]) => ({ name, count }));
}

/** Adds up what sources know. @param all at least one, each `null` where it is not known */
export function mergeCallers(all: readonly (readonly TaskCaller[] | null)[]): readonly TaskCaller[] | null {
  const counts = new Map<string, number>();
  for (const callers of all) {
    if (callers === null) return null;
    for (const { name, count } of callers) counts.set(name, (counts.get(name) ?? 0) + count);
  }
  return [...counts]
    .map(([name, count]) => ({ name, count }))
    .sort((a, b) => b.count - a.count || (a.name < b.name ? -1 : 1))
    .slice(0, MAX_NAMES);
}

/** Collects relatives from tasks that are seen one by one. */
export interface FamilyCollector extends FamilyNames {
  /** Notes a task, whether it is summed up or not. */
  note(task: { readonly id: string; readonly name?: string | null; readonly parentId?: string | null }): void;
  /** Whether the name of a task was noted, or that it has none. */
  has(id: string): boolean;
}

/** @returns one that has seen no task */
export function createFamilyCollector(): FamilyCollector {
  const names = new Map<string, string | null>();
  const sent = new Map<string, (string | null)[]>();
  return {
    note({ id, name = null, parentId = null }) {
      if (names.has(id)) return;
      names.set(id, name);
      if (parentId === null) return;
      const others = sent.get(parentId);
      if (others === undefined) sent.set(parentId, [name]);
      else others.push(name);
    },
    has: (id) => names.has(id),
    nameOf: (id) => names.get(id) ?? null,
    namesSentBy: (id) => sent.get(id) ?? [],
  };
}
