/** What was reported to the host, as a text that a store keeps for the instance that reports later. */
import { isRecord } from '../values.ts';
import type { FindingBody } from '../wire.ts';
import type { FindingNotice } from './on-finding.ts';

/** The last call. */
export interface Telling {
  readonly status: FindingNotice['status'];
  readonly severity: FindingBody['severity'];
  readonly at: number;
  /** Number of calls that reported this, if none of them is known to have succeeded; otherwise 0. */
  unconfirmed: number;
}

/** A finding that was reported to the host. */
export interface ToldFinding {
  readonly id: string;
  readonly body: FindingBody;
  readonly told: Telling;
}

/** Reads such a text. Entries of another form are left out. */
export function readTold(text: string): readonly ToldFinding[] {
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
