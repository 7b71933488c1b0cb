/**
 * What has been reported to the host, and what is to be reported next: plain data, which a store can keep for the
 * instance that reports later. Times are milliseconds since 1970.
 */
import { createHash } from 'node:crypto';
import type { Steps } from '../scheduler.ts';
import { frozen, isRecord } from '../values.ts';
import type { FindingBody } from '../wire.ts';
import { type Evaluation, type FoundProblem, MOST_FINDINGS, type RuleOutcome } from './evaluate.ts';
import type { FindingNotice } from './finding.ts';

/** How long a problem has to be found, or gone, before it is reported, in milliseconds. */
const LASTING_MS = 10_000;
/** Minimum time between two calls about the same finding, in milliseconds. */
const INTERVAL_MS = 60_000;
/** Maximum number of calls with the same report, if all of them fail. */
const MOST_CALLS = 5;

/** What is known about one finding. */
interface Note {
  /** The finding as last found. */
  body: FindingBody;
  /** Since when it is not found; `null`: it is found, or this is unknown. */
  goneSince: number | null;
  /** The last call about it; `null`: none. */
  told: Telling | null;
}

/** What a call reports. */
interface Told {
  readonly status: FindingNotice['status'];
  readonly severity: FindingBody['severity'];
}

/** A call. */
interface Telling extends Told {
  readonly at: number;
  /** Number of calls that reported this, if none of them is known to have succeeded; otherwise 0. */
  unconfirmed: number;
}

/** A call that is due. */
export interface DueNotice {
  readonly notice: FindingNotice;
  /** To be called when the host's function has succeeded. */
  confirm(): void;
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
  /** When the rules last judged. */
  let judgedAt = 0;
  const isRaised = ({ goneSince }: Note): boolean => goneSince === null || judgedAt - goneSince < LASTING_MS;
  const reportOf = (note: Note): Told => {
    if (isRaised(note)) return { status: 'raised', severity: note.body.severity };
    // The severity with which it was reported, for hosts that handle only critical ones.
    return { status: 'cleared', severity: note.told?.severity ?? note.body.severity };
  };
  return {
    *update({ findings, rules, at }, bodyOf) {
      const counts = new Map<string, number>();
      for (const { body } of notes.values()) countUp(counts, body);
      const missing = new Map(notes);
      for (const finding of findings) {
        yield;
        if (!covers(finding.source)) continue;
        const id = idOf(finding);
        missing.delete(id);
        const lasts = at - finding.since >= LASTING_MS;
        const note = notes.get(id);
        if (note === undefined) {
          if (lasts && countUp(counts, finding)) {
            notes.set(id, { body: bodyOf(finding), goneSince: null, told: null });
          }
        } else if (isRaised(note) || lasts) {
          const { since } = note.body;
          const body = bodyOf(finding);
          note.body = isRaised(note) && since < body.since ? { ...body, since } : body;
          note.goneSince = null;
        }
      }
      const doubtful = yield* doubtfulIds(missing, rules);
      for (const [id, note] of missing) {
        if (!doubtful.has(id)) note.goneSince ??= at;
        else if (isRaised(note)) note.goneSince = null;
      }
      judgedAt = at;
    },
    take(now, most) {
      const due: { readonly id: string; readonly note: Note; readonly report: Told }[] = [];
      for (const [id, note] of notes) {
        // The clock of the instance that called previously may be ahead.
        if (note.told !== null && Math.abs(now - note.told.at) < INTERVAL_MS) continue;
        const report = reportOf(note);
        if (isDue(note, report)) due.push({ id, note, report });
        else if (report.status === 'cleared') notes.delete(id);
      }
      due.sort((a, b) => Number(isCritical(b.report)) - Number(isCritical(a.report)));
      return due.slice(0, most).map(({ id, note, report }) => tell(id, note, report, now));
    },
    text() {
      const told = [...notes].filter(([, note]) => note.told !== null);
      return JSON.stringify(told.map(([id, { body, told: last }]) => ({ id, body, told: last })));
    },
    takeIn(text) {
      for (const { id, body, told } of readTold(text)) {
        const known = notes.get(id)?.told ?? null;
        if (!covers(body.source) || (known !== null && known.at >= told.at)) continue;
        notes.set(id, { body, goneSince: told.status === 'raised' ? null : Number.NEGATIVE_INFINITY, told });
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

/** @returns whether one more may be reported: different findings may be listed each time, possibly thousands */
function countUp(counts: Map<string, number>, finding: Pick<FindingBody, 'code' | 'source'>): boolean {
  const rule = ruleOf(finding);
  const count = counts.get(rule) ?? 0;
  counts.set(rule, count + 1);
  return count < MOST_FINDINGS;
}

/** Of the findings that are not listed, those that may exist nevertheless. */
function* doubtfulIds(
  missing: ReadonlyMap<string, Note>,
  rules: readonly RuleOutcome[],
): Steps<ReadonlySet<string>> {
  const outcomes = new Map(rules.map((rule) => [ruleOf(rule), rule]));
  const doubtful = new Set<string>();
  const partly = new Set<RuleOutcome>();
  for (const [id, { body }] of missing) {
    const outcome = outcomes.get(ruleOf(body));
    if (outcome?.unjudged) partly.add(outcome);
    // The rule no longer applies to the source, unless its data could not be read.
    else if (outcome || !rules.some(({ source, reason }) => source === body.source && reason === null)) {
      doubtful.add(id);
    }
  }
  for (const { code, source, unlisted, unjudged } of partly) {
    for (const subject of [...unlisted, ...(unjudged ?? [])]) {
      doubtful.add(idOf({ code, source, subject }));
      yield;
    }
  }
  return doubtful;
}

const isCritical = ({ severity }: Told): boolean => severity === 'critical';

function isTold({ told }: Note, report: Told): boolean {
  return told?.status === report.status && (isCritical(told) || !isCritical(report));
}

/** Whether the host has not been told this, or may not have heard it. */
function isDue(note: Note, report: Told): boolean {
  const { told } = note;
  if (told === null) return report.status === 'raised';
  return !isTold(note, report) || (told.unconfirmed > 0 && told.unconfirmed < MOST_CALLS);
}

function tell(id: string, note: Note, report: Told, now: number): DueNotice {
  const { status, severity } = report;
  const before = isTold(note, report) ? (note.told?.unconfirmed ?? 0) : 0;
  const told: Telling = { status, severity, at: now, unconfirmed: before + 1 };
  note.told = told;
  return {
    notice: frozen({ id, status, ...note.body, severity }),
    confirm() {
      told.unconfirmed = 0;
    },
  };
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
