/**
 * Removes secrets from the texts of tasks, the first time that an answer or a search reads them: redacting each message
 * on arrival would cost too much. The redacted text replaces the raw one, so each text is redacted once. A text that
 * changes later is redacted again when it is read.
 */
import type { TaskTextField } from '../../model.ts';
import type { Redactor } from '../../redact.ts';
import {
  type MutableRecord,
  progressSize,
  redactedProgress,
  redactedStamps,
  type TaskEntry,
} from '../merge/record.ts';
import { entriesAt, setRedactedDetail } from './entry-table.ts';
import { readRecord } from './record-table.ts';
import { FACT, inlineBytes, type Records } from './records.ts';
import type { Text } from './values.ts';

/** Removes secrets from texts of a table. */
export interface TableRedaction {
  /** Redacts what a search reads of a task: all texts but the traceback. */
  searched(slot: number): void;
  /** The record of a task, without secrets. It must not be changed. */
  record(slot: number): MutableRecord;
  /** The texts that the table holds of a task have no secrets. */
  mark(slot: number): void;
  /** They may have some: they are redacted again, which leaves redacted ones as they are. */
  unmark(slot: number): void;
  /** A record that is not in the table, without secrets. */
  redacted(record: MutableRecord): MutableRecord;
  /** Whether secrets are removed here. */
  readonly isActive: boolean;
}

const FACT_OF: Readonly<Record<TaskTextField, number>> = {
  args: FACT.ARGS_REDACTED,
  kwargs: FACT.KWARGS_REDACTED,
  result: FACT.RESULT_REDACTED,
  exception: FACT.EXCEPTION_REDACTED,
  traceback: FACT.TRACEBACK_REDACTED,
};
const SEARCHED: readonly TaskTextField[] = ['args', 'kwargs', 'exception', 'result'];
const FIELDS = Object.keys(FACT_OF) as TaskTextField[];

/** @param redactor `null`: texts stay as they are */
export function createTableRedaction(records: Records, redactor: Redactor | null): TableRedaction {
  if (redactor === null) {
    return {
      isActive: false,
      searched() {},
      mark() {},
      unmark() {},
      record: (slot) => readRecord(records, slot),
      redacted: (record) => record,
    };
  }
  return {
    isActive: true,
    mark: (slot) => markRedacted(records, slot, true),
    unmark: (slot) => markRedacted(records, slot, false),
    searched(slot) {
      for (const field of SEARCHED) redactField(records, slot, field, redactor);
    },
    record(slot) {
      for (const field of FIELDS) redactField(records, slot, field, redactor);
      redactDetails(records, slot, redactor);
      redactExtra(records, slot, redactor);
      const held = records.held.records.get(slot);
      return held === undefined ? readRecord(records, slot) : redactedCopy(records, slot, held, redactor);
    },
    redacted: (record) => redactedRecord(record, redactor, () => false, NO_DETAILS),
  };
}

const ALL_REDACTED = FIELDS.reduce((facts, field) => facts | FACT_OF[field], 0);

function markRedacted({ facts, entries, heads, extras }: Records, slot: number, isRedacted: boolean): void {
  const before = facts[slot] as number;
  facts[slot] = isRedacted ? before | ALL_REDACTED : before & ~ALL_REDACTED;
  if (entries.details.size > 0) {
    for (const at of entriesAt(entries, heads[slot] as number)) {
      if (!isRedacted) entries.redactedDetails.delete(at);
      else if (entries.details.has(at)) entries.redactedDetails.add(at);
    }
  }
  const extra = extras.get(slot);
  if (extra === undefined) return;
  if (extra.stamps !== null) extra.stamps = { ...extra.stamps, isRedacted };
  if (extra.progress !== null) extra.progress = { ...extra.progress, isRedacted };
}

/** Redacts a text of the table, unless that was done before. */
function redactField(records: Records, slot: number, field: TaskTextField, redactor: Redactor): void {
  const facts = records.facts[slot] as number;
  const fact = FACT_OF[field];
  if ((facts & fact) !== 0) return;
  const held = textAt(records, slot, field);
  if (held === null) return;
  records.facts[slot] = facts | fact;
  const { text, cut } = records.values.read(held);
  if (text === null) return;
  const shown = redactor.text(text, field, cut || isTruncated(records, slot, field));
  if (shown === text) return;
  records.textBytes -= inlineBytes(held);
  const kept = records.values.replace(held, ownCopy(shown));
  records.textBytes += inlineBytes(kept);
  setTextAt(records, slot, field, kept);
}

/** Texts of a record of which the table holds only the beginning. */
export function shortenedIn(records: Records, slot: number, record: MutableRecord): TaskTextField[] {
  return FIELDS.filter((field) => {
    const { text, cut } = records.values.read(textAt(records, slot, field));
    return cut && text === record[field];
  });
}

/** Marks a text of the table as only the beginning of the one that arrived. */
export function markShortened(records: Records, slot: number, field: TaskTextField): void {
  const held = textAt(records, slot, field);
  if (held === null) return;
  records.textBytes -= inlineBytes(held);
  const cut = records.values.cut(held);
  records.textBytes += inlineBytes(cut);
  setTextAt(records, slot, field, cut);
}

function isTruncated(records: Records, slot: number, field: TaskTextField): boolean {
  return records.extras.get(slot)?.truncated.includes(field) === true;
}

function redactDetails({ entries, heads }: Records, slot: number, redactor: Redactor): void {
  if (entries.details.size === 0) return;
  for (const at of entriesAt(entries, heads[slot] as number)) {
    const detail = entries.details.get(at);
    if (detail === undefined || entries.redactedDetails.has(at)) continue;
    setRedactedDetail(entries, at, ownCopy(redactor.text(detail, 'detail')));
  }
}

function redactExtra(records: Records, slot: number, redactor: Redactor): void {
  const extra = records.extras.get(slot);
  if (extra === undefined) return;
  extra.stamps = redactedStamps(extra.stamps, redactor);
  const shown = redactedProgress(extra.progress, redactor);
  records.textBytes += progressSize(shown) - progressSize(extra.progress);
  extra.progress = shown;
}

/**
 * A record that has changed since it was packed. Its raw texts are packed later, so its redacted ones are not kept; but
 * unchanged texts are not redacted twice.
 */
function redactedCopy(
  records: Records,
  slot: number,
  held: MutableRecord,
  redactor: Redactor,
): MutableRecord {
  const isPacked = (field: TaskTextField): boolean =>
    held[field] === records.values.read(textAt(records, slot, field)).text;
  return redactedRecord(held, redactor, isPacked, readPackedDetails(records, slot));
}

const NO_DETAILS: ReadonlySet<string> = new Set();

/** @param isRedacted and details which texts and details have no secrets */
function redactedRecord(
  record: MutableRecord,
  redactor: Redactor,
  isRedacted: (field: TaskTextField) => boolean,
  details: ReadonlySet<string>,
): MutableRecord {
  const copy = { ...record, entries: record.entries.map((entry) => redactedEntry(entry, details, redactor)) };
  for (const field of FIELDS) {
    const text = record[field];
    if (text === null || isRedacted(field)) continue;
    copy[field] = redactor.text(text, field, record.truncated.includes(field));
  }
  copy.stamps = redactedStamps(record.stamps, redactor);
  copy.progress = redactedProgress(record.progress, redactor);
  return copy;
}

function readPackedDetails({ entries, heads }: Records, slot: number): ReadonlySet<string> {
  const details = new Set<string>();
  for (const at of entriesAt(entries, heads[slot] as number)) {
    const detail = entries.details.get(at);
    if (detail !== undefined) details.add(detail);
  }
  return details;
}

function redactedEntry(entry: TaskEntry, packed: ReadonlySet<string>, redactor: Redactor): TaskEntry {
  const { detail } = entry;
  if (detail === null || packed.has(detail)) return entry;
  return { ...entry, detail: redactor.text(detail, 'detail') };
}

function textAt(records: Records, slot: number, field: TaskTextField): Text | null {
  if (field === 'args') return records.args[slot] ?? null;
  if (field === 'kwargs') return records.kwargs[slot] ?? null;
  if (field === 'result') return records.results[slot] ?? null;
  return records.extras.get(slot)?.[field] ?? null;
}

function setTextAt(records: Records, slot: number, field: TaskTextField, text: Text): void {
  if (field === 'args') records.args[slot] = text;
  else if (field === 'kwargs') records.kwargs[slot] = text;
  else if (field === 'result') records.results[slot] = text;
  else {
    const extra = records.extras.get(slot);
    if (extra !== undefined) extra[field] = text;
  }
}

/** A separate string: a part of the raw text would keep all of it in memory. */
export function ownCopy(text: string): string {
  return Buffer.from(text, 'utf16le').toString('utf16le');
}
