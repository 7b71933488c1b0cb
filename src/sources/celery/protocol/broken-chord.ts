import type { TaskChange } from '../../../history/history.ts';

const DEPENDENCY = /^ChordError\(["']Dependency (.{1,512}?) raised /s;
/** Characters of the exception that are examined. */
const LONGEST = 1024;

/** Where Celery joins the results of a header: in Redis, by a task of its own, and in django-celery-results. */
const JOINED =
  /, in on_chord_part_return\n|celery[/\\]app[/\\]builtins\.py", line \d+, in unlock_chord\n|django_celery_results[/\\]backends[/\\]database\.py", line \d+, in trigger_callback\n/;

/**
 * The failed header task, if a stored failure is that of the body of its chord, which then never runs:
 * `ChordError("Dependency <id> raised …")`. A task that waits for the result of a chord raises the same exception, from
 * another place.
 *
 * @returns `null` for any other failure
 */
export function failedHeaderTask({ exception, traceback }: TaskChange): string | null {
  if (exception == null || !exception.startsWith('ChordError(')) return null;
  if (traceback == null || !JOINED.test(traceback)) return null;
  return DEPENDENCY.exec(exception.slice(0, LONGEST))?.[1] ?? null;
}
