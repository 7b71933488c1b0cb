/**
 * Brings together the messages that name the entry of a schedule and the events of their tasks, whichever is read first.
 *
 * django-celery-beat sets the property `periodic_task_name` (`ModelEntry` in django_celery_beat/schedulers.py), also for
 * what its admin page sends; the options of any other entry may set it, or a header of that name.
 */
import { createLruCache } from '../../../lru-cache.ts';

/** The data of a message. */
export interface NamedRun {
  readonly taskId: string;
  /** Name of the entry. */
  readonly entry: string;
}

/** The data of an event about a task that may be a run. */
export interface Heard {
  readonly taskId: string;
  /** Name of the task. */
  readonly task: string;
  /** Milliseconds since 1970. */
  readonly time: number;
  /** Whether it was sent then; otherwise it was received. */
  readonly isSent: boolean;
}

/** Most messages, and most events, that wait for each other. */
const MOST = 2_000;

/** `Taker`: an entry to which the task was attributed without knowing the name. */
export interface NamedRuns<Taker> {
  /** The entry that the message of a task names; `null`: it was not read, or names none. */
  entryOf(taskId: string): string | null;
  heard(heard: Heard, takers: readonly Taker[]): void;
  /** @returns the event about its task; `null`: none yet */
  named(run: NamedRun): { readonly heard: Heard; readonly takers: readonly Taker[] } | null;
}

export function createNamedRuns<Taker>(): NamedRuns<Taker> {
  const entries = createLruCache<string>({ entries: MOST });
  const events = createLruCache<{ heard: Heard; takers: readonly Taker[] }>({ entries: MOST });
  return {
    entryOf: (taskId) => entries.get(taskId) ?? null,
    heard(heard, takers) {
      const known = events.get(heard.taskId);
      const isKept = known?.heard.isSent && !heard.isSent;
      events.set(heard.taskId, { heard: isKept ? known.heard : heard, takers });
    },
    named({ taskId, entry }) {
      entries.set(taskId, entry);
      return events.get(taskId) ?? null;
    },
  };
}
