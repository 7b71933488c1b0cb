import { type Redactor, redactTaskProgress } from '../../redact.ts';
import { type KeptProgress, progressSize } from '../merge/progress.ts';
import type { Records } from './records.ts';

/** Redacts the progress that a table holds of a task. */
export function redactProgress(records: Records, slot: number, redactor: Redactor): void {
  const extra = records.extras.get(slot);
  if (extra === undefined || extra.progress === null) return;
  const shown = redactedProgress(extra.progress, redactor);
  records.textBytes += progressSize(shown) - progressSize(extra.progress);
  extra.progress = shown;
}

/** The same without secrets. */
export function redactedProgress(progress: KeptProgress | null, redactor: Redactor): KeptProgress | null {
  if (progress === null || progress.isRedacted === true) return progress;
  const { value } = progress;
  return { ...progress, value: redactTaskProgress(value, redactor), isRedacted: true };
}
