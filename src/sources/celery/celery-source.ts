import { createMemoryHistory } from '../../history/memory-history.ts';
import type { RetentionOptions } from '../../history/retention.ts';
import { withEngine } from '../../source/engine.ts';
import type { CeleryParts } from './answers.ts';
import { type LiveOptions, openLive } from './live.ts';

/** Longest text of a stored value in characters, unless `retention.maxValueLength` is set. */
const VALUE_LENGTH = 65_536;

/** The parts of a Celery source, for any broker and result backend. */
export interface CelerySourceOptions extends Omit<LiveOptions, 'valueLength'> {
  /** Limits on what is held in memory. */
  readonly retention: RetentionOptions;
}

/** A source that can be closed. */
export type ClosableParts = CeleryParts & { close(): Promise<void> };

/** A Celery source: a history in memory, what collects into it, and what answers from it. */
export function createCelerySource(options: CelerySourceOptions): ClosableParts {
  const { retention, broker, redactor = null } = options;
  const history = createMemoryHistory({ ...retention, redactor, eventless: broker === null });
  const live = openLive({ ...options, valueLength: valueLengthOf(retention) }, history);
  return closable(live.parts, async () => {
    await live.close();
    history.close();
  });
}

/** Longest text to make of one stored value, in characters. */
export function valueLengthOf({ maxValueLength = VALUE_LENGTH }: RetentionOptions): number {
  return maxValueLength;
}

/** The parts of a Celery source, which are closed once. */
export function closable(parts: CeleryParts, close: () => Promise<void>): ClosableParts {
  let closing: Promise<void> | null = null;
  return {
    ...withEngine(parts, 'celery'),
    close() {
      closing ??= close();
      return closing;
    },
  };
}
