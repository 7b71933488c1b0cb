import type { TaskChange } from '../../../history/history.ts';

/**
 * The header task that failed, of a stored failure that stands for the body of its chord, which then never
 * runs (celery/backends/redis.py, `on_chord_part_return`): `ChordError("Dependency <id> raised …")`. A
 * task that waits for a chord's result raises the same, from elsewhere.
 *
 * @returns `null` for any other failure
 */
export function brokenHeader(change: TaskChange): string | null {
  const { exception, traceback } = change;
  if (exception == null || !exception.startsWith('ChordError(')) return null;
  if (traceback == null || !traceback.includes(', in on_chord_part_return\n')) return null;
  return DEPENDENCY.exec(exception.slice(0, LONGEST))?.[1] ?? null;
}

const DEPENDENCY = /^ChordError\(["']Dependency (.{1,512}?) raised /s;
const LONGEST = 1024;
