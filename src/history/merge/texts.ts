import type { Labels } from '../table/labels.ts';
import { inlineBytes, type Records } from '../table/records.ts';
import type { Text } from '../table/values.ts';

/** Sets texts of tasks, and keeps count of their bytes. */
export interface Texts {
  set(column: (Text | null)[], slot: number, text: string): void;
  /** @returns what to keep in place of the old one */
  replace(old: Text | null, text: string): Text;
}

/** @returns what sets the texts of these records */
export function createTexts(records: Records): Texts {
  function replace(old: Text | null, text: string): Text {
    if (old === text) return old;
    records.textBytes -= inlineBytes(old);
    records.values.drop(old);
    const kept = records.values.keep(text);
    records.textBytes += inlineBytes(kept);
    return kept;
  }

  return {
    set(column, slot, text) {
      column[slot] = replace(column[slot] ?? null, text);
    },
    replace,
  };
}

/** Lets a waiting label hold its text until the indexes take it over. @returns the label to wait */
export function moveLabel(labels: Labels, waiting: number, indexed: number, text: string): number {
  const label = labels.intern(text);
  if (label === waiting) return label;
  if (label !== indexed) labels.retain(label);
  if (waiting !== indexed) labels.release(waiting);
  return label;
}
