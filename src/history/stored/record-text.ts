/** Records as text, and back. Long texts are stored separately, so that a list does not read them. */
import type { TaskCause, TaskTextField } from '../../model.ts';
import { isRecord, isTime } from '../../values.ts';
import type { KeptTask } from '../memory/tap.ts';
import type { EntryKind, MutableRecord, Ranks, TaskEntry, TaskRecord } from '../merge/record.ts';
import { emptyRecord, FIELD_NAMES, FIELD_ROWS } from '../merge/record-fields.ts';
import type { StoredRecord } from '../store.ts';

/** Of the format. Texts of another version are not read. */
const VERSION = 2;
/** Longest text in the record itself, in characters. */
const LONGEST_INLINE = 2_048;

const TEXT_FIELDS: readonly TaskTextField[] = ['args', 'kwargs', 'result', 'exception', 'traceback'];
// The record contains positions in these lists: new names are added at the end.
const KINDS: readonly EntryKind[] = [
  ...(['sent', 'received', 'revoking', 'started', 'custom', 'retried', 'requeued'] as const),
  ...(['revoked', 'rejected', 'propagated', 'failed', 'succeeded'] as const),
];
const RANKS: readonly (keyof Ranks)[] = [
  ...(['name', 'args', 'queue', 'eta', 'lineage', 'group', 'chord', 'result', 'exception'] as const),
];
const TIME_SOURCES = ['sender', 'arrival', 'reading'] as const;

/** A record as it is stored. */
export interface RecordText {
  readonly record: string;
  /** The whole texts of which the record has the beginning only; `null`: it has all of them. */
  readonly texts: string | null;
}

/**
 * @param record whose texts have no secrets
 * @param cause of its failure: of a long traceback, the record has only the beginning, and the innermost frame is at its
 *   end
 */
export function writeRecordText(record: TaskRecord, cause: TaskCause | null): RecordText {
  const known: Record<string, unknown> = { v: VERSION };
  const long: Record<string, string> = {};
  for (const field of FIELD_NAMES) {
    const value = record[field];
    if (value === null || value === false) continue;
    if (typeof value === 'string' && isTextField(field) && value.length > LONGEST_INLINE) {
      known[field] = startOf(value);
      long[field] = value;
    } else known[field] = FIELD_ROWS[field].text.write?.(value) ?? value;
  }
  if (record.truncated.length > 0) known.truncated = record.truncated;
  known.entries = record.entries.map(writeEntry);
  known.ranks = RANKS.map((rank) => record.ranks[rank]);
  const fields = Object.keys(long);
  if (fields.length > 0) known.long = fields;
  if ('exception' in long || 'traceback' in long) known.cause = writeCause(cause);
  return { record: JSON.stringify(known), texts: fields.length === 0 ? null : JSON.stringify(long) };
}

/** @returns a stored task as memory absorbs it; `null` for a text of another version */
export function readKeptTask({
  id,
  record,
  texts,
  rootId,
}: Pick<StoredRecord, 'id' | 'record' | 'texts' | 'rootId'>): KeptTask | null {
  const read = readText(id, record, texts);
  if (read === null) return null;
  const { cause, shortened } = read;
  return { record: read.record, rootId, shortened, ...(cause !== undefined && { cause }) };
}

/** The text may come from anywhere: a value is used only if it has the right type. */
function readText(
  id: string,
  text: string,
  texts: string | null,
): {
  readonly record: MutableRecord;
  readonly shortened: readonly TaskTextField[];
  readonly cause: TaskCause | undefined;
} | null {
  const known = parse(text);
  if (known?.v !== VERSION || !Array.isArray(known.entries) || !Array.isArray(known.ranks)) return null;
  const record = emptyRecord(id);
  const long: readonly unknown[] = Array.isArray(known.long) ? known.long : NOTHING;
  const whole = texts === null || long.length === 0 ? null : parse(texts);
  const shortened: TaskTextField[] = [];
  for (const field of FIELD_NAMES) {
    const value = FIELD_ROWS[field].text.read(known[field]) ?? null;
    if (value === null) continue;
    const end = long.includes(field) ? whole?.[field] : undefined;
    Object.assign(record, { [field]: typeof end === 'string' ? end : value });
    if (isTextField(field) && long.includes(field) && typeof end !== 'string') shortened.push(field);
  }
  record.truncated = truncatedOf(known.truncated, shortened);
  for (let at = 0; at < RANKS.length; at++)
    record.ranks[RANKS[at] as keyof Ranks] = numberOr(known.ranks[at]) ?? 0;
  for (const row of known.entries) {
    const entry = Array.isArray(row) ? readEntry(row) : null;
    if (entry !== null) record.entries.push(entry);
  }
  return { record, shortened, cause: readCause(known.cause) };
}

function writeCause(cause: TaskCause | null): readonly (string | null)[] | undefined {
  return cause === null ? undefined : [cause.id, cause.exception, cause.message, cause.frame];
}

function readCause(value: unknown): TaskCause | undefined {
  if (!Array.isArray(value) || typeof value[0] !== 'string') return undefined;
  const [id, exception, message, frame] = value;
  return { id, exception: textOr(exception), message: textOr(message), frame: textOr(frame) };
}

function truncatedOf(truncated: unknown, shortened: readonly TaskTextField[]): readonly TaskTextField[] {
  if (!Array.isArray(truncated) && shortened.length === 0) return NOTHING;
  const fields: readonly unknown[] = Array.isArray(truncated) ? truncated : [];
  return TEXT_FIELDS.filter((field) => fields.includes(field) || shortened.includes(field));
}

const NOTHING: TaskRecord['truncated'] = [];

function isTextField(field: string): field is TaskTextField {
  return (TEXT_FIELDS as readonly string[]).includes(field);
}

/** The beginning of a text, without half a character at its end. */
function startOf(text: string): string {
  const last = text.charCodeAt(LONGEST_INLINE - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? LONGEST_INLINE - 1 : LONGEST_INLINE);
}

function parse(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}

/** Most of the stored text is entries: an array takes a third of the space of an object. */
function writeEntry(entry: TaskEntry): unknown[] {
  const flags =
    (entry.origin === 'result' ? 1 : 0) |
    (entry.isStored ? 2 : 0) |
    (entry.isCounted ? 4 : 0) |
    (TIME_SOURCES.indexOf(entry.timeSource) << 3);
  const row: unknown[] = [KINDS.indexOf(entry.kind), entry.time, flags];
  row.push(entry.worker, entry.retries, entry.state, entry.detail);
  while (row.at(-1) === null) row.pop();
  return row;
}

function readEntry(row: readonly unknown[]): TaskEntry | null {
  const [kind, time, flags, worker, retries, state, detail] = row;
  const bits = numberOr(flags) ?? 0;
  const [known, source] = [KINDS[numberOr(kind) ?? -1], TIME_SOURCES[bits >> 3]];
  if (known === undefined || source === undefined || !isTime(time)) return null;
  return {
    kind: known,
    state: textOr(state),
    origin: (bits & 1) === 0 ? 'event' : 'result',
    time,
    timeSource: source,
    isStored: (bits & 2) !== 0,
    retries: numberOr(retries),
    isCounted: (bits & 4) !== 0,
    worker: textOr(worker),
    detail: textOr(detail),
  };
}

function textOr(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function numberOr(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}
