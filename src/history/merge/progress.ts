import type { TaskProgress } from '../../model.ts';
import { type Redactor, redactTaskProgress } from '../../redact.ts';
import { isTime } from '../../values.ts';

/** The last progress of a task that is known. */
export interface KeptProgress {
  readonly value: TaskProgress;
  /** When it was reported, or known to be true, in milliseconds since 1970. */
  readonly at: number;
  /** Number of the attempt that reported it, 0 for the first; `null`: not known. */
  readonly attempt: number | null;
  /** Whether the secrets were removed. */
  readonly isRedacted?: boolean;
}

/**
 * Takes a progress that a message reports, unless a later one is known.
 *
 * @param entry the message
 * @returns whether it differs from the known one
 */
export function takeProgress(
  record: { progress: KeptProgress | null },
  value: TaskProgress | null | undefined,
  { time, retries }: { readonly time: number; readonly retries: number | null },
): boolean {
  if (value === null || value === undefined) return false;
  const before = record.progress;
  record.progress = laterProgress(before, { value, at: time, attempt: retries });
  return !isSameProgress(record.progress, before);
}

/** The later of two; of two that are equally late, the same one whatever their order. */
function laterProgress(one: KeptProgress | null, other: KeptProgress | null): KeptProgress | null {
  if (one === null || other === null) return one ?? other;
  if (one.at !== other.at) return one.at > other.at ? one : other;
  return textOf(one) >= textOf(other) ? one : other;
}

/** Whether two report the same, whenever that was. */
function isSameProgress(one: KeptProgress | null, other: KeptProgress | null): boolean {
  if (one === null || other === null) return one === other;
  return textOf(one) === textOf(other);
}

function textOf({ value, attempt }: KeptProgress): string {
  const { current, total, percent, text } = value;
  return JSON.stringify([percent, current, total, text, attempt]);
}

/** Estimate of its memory, in bytes. */
export function progressSize(progress: KeptProgress | null): number {
  return progress === null ? 0 : 120 + 2 * (progress.value.text?.length ?? 0);
}

/** The same without secrets. */
export function redactedProgress(progress: KeptProgress | null, redactor: Redactor): KeptProgress | null {
  if (progress === null || progress.isRedacted === true) return progress;
  const { value } = progress;
  return { ...progress, value: redactTaskProgress(value, redactor), isRedacted: true };
}

/** The progress of a task as JSON: an array takes a third of the space of an object. */
export const PROGRESS_TEXT = { write: writeProgress, read: readProgress };

function writeProgress({ value, at, attempt, isRedacted }: KeptProgress): unknown {
  const { current, total, percent, text } = value;
  return [at, attempt, isRedacted === true ? 1 : 0, current, total, percent, text];
}

function readProgress(written: unknown): KeptProgress | null {
  if (!Array.isArray(written)) return null;
  const [at, attempt, isRedacted, current, total, percent, text] = written as unknown[];
  if (!isTime(at)) return null;
  const value = {
    current: numberOr(current),
    total: numberOr(total),
    percent: numberOr(percent),
    text: typeof text === 'string' ? text : null,
  };
  return { value, at, attempt: numberOr(attempt), ...(isRedacted === 1 && { isRedacted: true }) };
}

function numberOr(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}
