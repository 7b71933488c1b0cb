/** The names of the tasks that sent the counted tasks, and of the tasks that these sent. */
import { type Steps, sortInSteps } from '../scheduler.ts';
import type { TaskCaller, TaskStats } from '../source.ts';

/** Maximum number of names in the result. */
const MAX_NAMES = 50;
/** Relatives that are counted between two pauses. */
const AT_ONCE = 128;

/** A task, and the task that sent it. */
export interface SentTask {
  readonly id: string;
  /** `null`: unknown, or no task sent it. */
  readonly parentId: string | null;
}

/** Where the names of relatives are found. */
export interface FamilyNames {
  /** The name of a task; `null`: unknown. */
  nameOf(id: string): string | null;
  /** The names of the tasks that a task sent; `null` for unknown names. */
  namesSentBy(id: string): Iterable<string | null>;
}

/** The figures about callers in statistics. */
export type CallerFigures = Required<Pick<TaskStats, 'callers' | 'callees'>>;

/** For unknown callers and callees. */
export const UNKNOWN_CALLERS: CallerFigures = { callers: null, callees: null };

/** Counts the relatives whose names are known. @param tasks the counted tasks */
export function* countCallers(tasks: readonly SentTask[], names: FamilyNames): Steps<CallerFigures> {
  const [callers, callees] = [new Map<string, Counted>(), new Map<string, Counted>()];
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

interface Counted {
  readonly name: string;
  count: number;
}

function addName(counts: Map<string, Counted>, name: string | null): void {
  if (name === null) return;
  const known = counts.get(name);
  if (known === undefined) counts.set(name, { name, count: 1 });
  else known.count++;
}

// There may be as many names as tasks: copying the values takes a tenth of the time of making pairs.
const mostFrequent = (counts: ReadonlyMap<string, Counted>): Steps<readonly TaskCaller[]> =>
  sortInSteps([...counts.values()], byCount, MAX_NAMES);

function byCount(a: TaskCaller, b: TaskCaller): number {
  return b.count - a.count || (a.name < b.name ? -1 : 1);
}

/** Adds up the lists of several sources. @param all at least one, each `null` if unknown */
export function mergeCallers(all: readonly (readonly TaskCaller[] | null)[]): readonly TaskCaller[] | null {
  const counts = new Map<string, number>();
  for (const callers of all) {
    if (callers === null) return null;
    for (const { name, count } of callers) counts.set(name, (counts.get(name) ?? 0) + count);
  }
  return [...counts]
    .map(([name, count]) => ({ name, count }))
    .sort(byCount)
    .slice(0, MAX_NAMES);
}

/** Collects relatives from tasks that are added one by one. */
export interface FamilyCollector extends FamilyNames {
  /** Records a task, whether it is counted or not. */
  note(task: { readonly id: string; readonly name?: string | null; readonly parentId?: string | null }): void;
  /** Whether the name of a task, or that it has none, is recorded. */
  has(id: string): boolean;
}

/** @returns an empty collector */
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
