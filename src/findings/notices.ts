/**
 * What has been reported to the host, and what is to be reported next: plain data, which a store can keep for the
 * instance that reports later. Times are milliseconds since 1970.
 */
import { createHash } from 'node:crypto';
import type { Steps } from '../scheduler.ts';
import { frozen, isRecord } from '../values.ts';
import type { FindingBody } from '../wire.ts';
import { type Evaluation, type FoundProblem, MOST_FINDINGS, type RuleOutcome } from './evaluate.ts';
import type { FindingNotice } from './on-finding.ts';

/** How long a problem has to be found, or gone, before it is reported, in milliseconds. */
const LASTING_MS = 10_000;
/** Minimum time between two calls about the same finding, in milliseconds. */
const INTERVAL_MS = 60_000;
/** Maximum number of calls with the same report, if all of them fail. */
const MOST_CALLS = 5;

/** The state of one finding. */
interface Note {
  /** The finding as last found. */
  body: FindingBody;
  /** Whether it is found; very recent changes do not count yet. */
  isTrue: boolean;
  /** Since when it is not found; `null`: it is found, or this is unknown. */
  goneSince: number | null;
  told: Telling | null;
  /** Whether a call about it is in progress. */
  isCalling: boolean;
}

const NEW = { goneSince: null, told: null, isCalling: false };

/** A call that is due. */
export interface DueNotice {
  readonly notice: FindingNotice;
  /** To be called when the host's function has succeeded. */
  confirm(): void;
  /** To be called when the call has ended, or its time is up. */
  end(): void;
}

/** Records what was reported to the host. */
export interface Notices {
  /** Adds the results of the rules. @param bodyOf converts a finding to the form that the API serves */
  update(evaluation: Evaluation, bodyOf: (finding: FoundProblem) => FindingBody): Steps<void>;
  /** What to report now, critical findings first. It counts as reported. @param most maximum number of notices */
  take(now: number, most: number): readonly DueNotice[];
  /** Everything that was reported, as text. */
  text(): string;
  /** Reads such a text; of two calls about the same finding, the later one counts. */
  takeIn(text: string): void;
  /** Forgets everything. */
  clear(): void;
}

/** @param covers whether this instance reports the findings of a source */
export function createNotices(covers: (source: string | null) => boolean): Notices {
  const notes = new Map<string, Note>();
  return {
    *update({ findings, rules, at }, bodyOf) {
      const counts = countsOf(notes.values());
      const found = new Set<string>();
      for (const finding of findings) {
        yield;
        if (!covers(finding.source)) continue;
        const id = idOf(finding);
        found.add(id);
        const lasts = at - finding.since >= LASTING_MS;
        const note = notes.get(id);
        if (note !== undefined) noteFound(note, bodyOf(finding), lasts);
        else if (lasts && countUp(counts, finding)) {
          notes.set(id, { ...NEW, body: bodyOf(finding), isTrue: true });
        }
      }
      const doubtful: DoubtfulIds = new Map();
      for (const [id, note] of notes) {
        if (found.has(id)) continue;
        const isGone = yield* isNotFound(id, note.body, rules, doubtful);
        note.goneSince = isGone ? (note.goneSince ?? at) : null;
        if (note.goneSince !== null && at - note.goneSince >= LASTING_MS) note.isTrue = false;
      }
    },
    take(now, most) {
      const due: [string, Note][] = [];
      for (const [id, note] of notes) {
        if (isOver(note, now)) notes.delete(id);
        else if (isDue(note, now)) due.push([id, note]);
      }
      due.sort(([, a], [, b]) => Number(severityOf(b) === 'critical') - Number(severityOf(a) === 'critical'));
      return due.slice(0, most).map(([id, note]) => tell(id, note, now));
    },
    text() {
      const told = [...notes].filter(([, note]) => note.told !== null);
      return JSON.stringify(told.map(([id, { body, told: last }]) => ({ id, body, told: last })));
    },
    takeIn(text) {
      for (const { id, body, told } of readTold(text)) {
        const known = notes.get(id)?.told ?? null;
        if (!covers(body.source) || (known !== null && known.at >= told.at)) continue;
        notes.set(id, { ...NEW, body, isTrue: told.status === 'raised', told });
      }
    },
    clear: () => notes.clear(),
  };
}

/** A hash, because code, source and subject may be secret. */
function idOf({ code, source, subject }: Pick<FoundProblem, 'code' | 'source' | 'subject'>): string {
  return createHash('sha256')
    .update(JSON.stringify([code, source, subject]))
    .digest('hex')
    .slice(0, 16);
}

const ruleOf = ({ code, source }: Pick<FindingBody, 'code' | 'source'>): string =>
  JSON.stringify([code, source]);

function countsOf(notes: Iterable<Note>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { body } of notes) counts.set(ruleOf(body), (counts.get(ruleOf(body)) ?? 0) + 1);
  return counts;
}

/** @returns whether one more may be reported: different findings may be listed each time, possibly thousands */
function countUp(counts: Map<string, number>, finding: FoundProblem): boolean {
  const rule = ruleOf(finding);
  const count = counts.get(rule) ?? 0;
  counts.set(rule, count + 1);
  return count < MOST_FINDINGS;
}

function noteFound(note: Note, body: FindingBody, lasts: boolean): void {
  const { since } = note.body;
  note.body = note.isTrue && since < body.since ? { ...body, since } : body;
  note.goneSince = null;
  note.isTrue ||= lasts;
}

/** By rule: the findings that it does not list although they may exist. */
type DoubtfulIds = Map<RuleOutcome, ReadonlySet<string>>;

/** Whether a finding that is not listed is certainly gone. */
function* isNotFound(
  id: string,
  { code, source }: FindingBody,
  rules: readonly RuleOutcome[],
  doubtful: DoubtfulIds,
): Steps<boolean> {
  const outcome = rules.find((rule) => rule.code === code && rule.source === source);
  // The rule no longer applies to the source, unless its data could not be read.
  if (outcome === undefined) return rules.some((rule) => rule.source === source && rule.reason === null);
  const { unlisted, unjudged } = outcome;
  if (unjudged === null) return false;
  let ids = doubtful.get(outcome);
  if (ids === undefined) {
    ids = yield* idsOf(outcome, [...unlisted, ...unjudged]);
    doubtful.set(outcome, ids);
  }
  return !ids.has(id);
}

/** There may be thousands: they are computed once for all findings of a rule. */
function* idsOf(
  { code, source }: RuleOutcome,
  subjects: readonly (string | null)[],
): Steps<ReadonlySet<string>> {
  const ids = new Set<string>();
  for (const subject of subjects) {
    ids.add(idOf({ code, source, subject }));
    yield;
  }
  return ids;
}

const statusOf = ({ isTrue }: Note): FindingNotice['status'] => (isTrue ? 'raised' : 'cleared');

/** The end of a finding has the severity with which it was reported, for hosts that handle only critical ones. */
function severityOf({ isTrue, body, told }: Note): FindingBody['severity'] {
  return isTrue ? body.severity : (told?.severity ?? body.severity);
}

function isTold(note: Note): boolean {
  const { told } = note;
  if (told?.status !== statusOf(note)) return false;
  return told.severity === 'critical' || severityOf(note) === 'warning';
}

function mayCall({ told, isCalling }: Note, now: number): boolean {
  if (isCalling) return false;
  // The clock of the instance that called previously may be ahead.
  return told === null || Math.abs(now - told.at) >= INTERVAL_MS;
}

function isDue(note: Note, now: number): boolean {
  const { told } = note;
  if (!mayCall(note, now)) return false;
  if (!isTold(note)) return note.isTrue || told !== null;
  return told !== null && told.unconfirmed > 0 && told.unconfirmed < MOST_CALLS;
}

/** Whether there is nothing left to report and no call to wait for. */
function isOver(note: Note, now: number): boolean {
  return !note.isTrue && mayCall(note, now) && !isDue(note, now);
}

function tell(id: string, note: Note, now: number): DueNotice {
  const before = isTold(note) ? (note.told?.unconfirmed ?? 0) : 0;
  const status = statusOf(note);
  const severity = severityOf(note);
  const told: Telling = { status, severity, at: now, unconfirmed: before + 1 };
  note.told = told;
  note.isCalling = true;
  return {
    notice: frozen({ id, status, ...note.body, severity }),
    confirm() {
      told.unconfirmed = 0;
    },
    end() {
      note.isCalling = false;
    },
  };
}

/** The last call. */
interface Telling {
  readonly status: FindingNotice['status'];
  readonly severity: FindingBody['severity'];
  readonly at: number;
  /** Number of calls that reported this, if none of them is known to have succeeded; otherwise 0. */
  unconfirmed: number;
}

/** A finding that was reported to the host. */
interface ToldFinding {
  readonly id: string;
  readonly body: FindingBody;
  readonly told: Telling;
}

/** Reads what a store keeps for the instance that reports later. Entries of another form are left out. */
function readTold(text: string): readonly ToldFinding[] {
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) ? list.filter(isToldFinding) : [];
  } catch {
    return [];
  }
}

function isToldFinding(item: unknown): item is ToldFinding {
  if (!isRecord(item) || !isRecord(item.body) || !isRecord(item.told)) return false;
  const { code, since, summary, source } = item.body;
  const { status, at, unconfirmed } = item.told;
  return (
    [item.id, code, since, summary, status].every((value) => typeof value === 'string') &&
    (source === null || typeof source === 'string') &&
    [at, unconfirmed].every((value) => typeof value === 'number')
  );
}
