/** Removes the secrets from what a source returns. Without a redactor, it is returned unchanged. */
import {
  type Component,
  LONGEST_PROGRESS,
  type Schedule,
  type Task,
  type TaskChangeEntry,
  type TaskEvent,
  type TaskProgress,
  type TaskTextField,
} from '../model.ts';
import { textOf } from '../text.ts';
import { isRecord } from '../values.ts';
import type { Redactor } from './redactor.ts';

const TEXT_FIELDS: readonly TaskTextField[] = ['args', 'kwargs', 'result', 'exception', 'traceback'];

/** Longest text of one value that is kept, in characters. */
const LONGEST = 262_144;

/** A task that has just been made, and that nobody else holds yet. */
export type NewTask = { -readonly [Member in keyof Task]: Task[Member] };

/**
 * Redacts the texts of a task, but not those of a timeline. It does so in place: to copy a task takes longer than to
 * redact short texts.
 *
 * @param most longest text of one value to keep, in characters. The rest is dropped before the text
 *   is redacted, and the field counts as truncated
 */
export function redactTask(task: NewTask, redactor: Redactor | null, most = LONGEST): Task {
  if (redactor === null) return task;
  const truncated = new Set(task.truncated);
  for (const field of TEXT_FIELDS) {
    const value: unknown = task[field];
    if (typeof value === 'string' && value.length > most) truncated.add(field);
    task[field] = redactValue(value, field, redactor, truncated.has(field), most);
  }
  task.stamps = redactValue(task.stamps, 'stamps', redactor);
  task.progress = task.progress == null ? null : redactTaskProgress(task.progress, redactor);
  task.truncated = [...truncated];
  task.redacted = true;
  return task;
}

/** Redacts the text of a progress. */
export function redactTaskProgress(progress: TaskProgress, redactor: Redactor): TaskProgress {
  const { text } = progress;
  if (text === null) return progress;
  return { ...progress, text: redactor.text(text, 'progress', text.length >= LONGEST_PROGRESS) };
}

/** Redacts the details of a timeline. */
export function redactTimeline(
  timeline: readonly TaskChangeEntry[],
  redactor: Redactor | null,
): readonly TaskChangeEntry[] {
  if (redactor === null) return timeline;
  return timeline.map((entry) =>
    entry.detail === null ? entry : { ...entry, detail: redactor.text(entry.detail, 'detail') },
  );
}

/** Redacts the detail of an event. */
export function redactEvent(event: TaskEvent, redactor: Redactor | null): TaskEvent {
  if (redactor === null) return event;
  const { detail } = event;
  const shown = typeof detail === 'string' ? redactor.text(detail, 'detail') : null;
  return { ...event, detail: shown, redacted: true };
}

/** Redacts the texts of a schedule. */
export function redactSchedule(schedule: Schedule, redactor: Redactor | null): Schedule {
  if (redactor === null) return schedule;
  const { schedule: rule, args, kwargs } = schedule;
  return {
    ...schedule,
    schedule: typeof rule === 'string' ? redactor.text(rule, 'schedule') : null,
    args: redactValue(args, 'args', redactor),
    kwargs: redactValue(kwargs, 'kwargs', redactor),
    redacted: true,
  };
}

/** Redacts the configuration and the URL of a component. */
export function redactComponent(component: Component, redactor: Redactor | null): Component {
  if (redactor === null) return component;
  const show = (text: string): string => redactor.text(text, 'config');
  const { url, config } = component;
  return {
    ...component,
    url: typeof url === 'string' ? show(url) : null,
    config: plainRecord(config, show, redactor.isSecretKey),
    redacted: true,
  };
}

/**
 * Redacts one value. One that is not a string becomes JSON, in which the values of secret keys are masked.
 *
 * @param isCut whether the end of the value is missing. Default false
 */
export function redactValue(
  value: unknown,
  field: string,
  redactor: Redactor,
  isCut = false,
  most = LONGEST,
): unknown {
  if (value === null || value === undefined) return value;
  const text = textOf(value, most, redactor.isSecretKey);
  if (typeof value !== 'string' && text === 'null') return null;
  return redactor.text(text.slice(0, most), field, isCut || text.length > most);
}

// Settings are for people, who do not read more than this.
const MOST_CHARACTERS = 65_536;

/**
 * `null` when the value is not a plain object.
 *
 * @param show masks the secrets in a string
 * @param isSecretKey whether to mask the value of a member
 */
export function plainRecord(
  value: unknown,
  show: (text: string) => string,
  isSecretKey: (key: string) => boolean,
): Record<string, unknown> | null {
  if (!isRecord(value)) return null;
  const text = textOf(value, MOST_CHARACTERS, isSecretKey);
  // `textOf` writes dates, maps and unreadable values as strings or arrays, which are not settings.
  return text.startsWith('{') ? (masked(JSON.parse(text), show) as Record<string, unknown>) : null;
}

/** The recursion ends because parsed JSON is a tree, and `textOf` bounds its depth. */
function masked(value: unknown, show: (text: string) => string): unknown {
  if (typeof value === 'string') return show(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => masked(item, show));
  // Mask the member names too: some settings are keyed by URL.
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [show(key), masked(item, show)]));
}
