import { describe, expect, it } from 'vitest';
import type { SourceSituation } from '../../src/findings/finding.ts';
import { storeBehind } from '../../src/findings/rules/store-behind.ts';
import { judgeServers } from '../../src/findings/source-down.ts';
import type { StoreStatus } from '../../src/history/stored-history.ts';
import { ago, component, judge, NOW, source } from './situations.ts';

const FINE: StoreStatus = {
  ...{ engine: 'postgres', phase: 'ready', isHolder: true, waiting: 12, waitingSince: NOW - 700 },
  ...{ lastWrite: NOW - 700, error: null, code: null, remedy: null, lost: 0, lostAt: null, bytes: 1_000 },
};

const timeOf = (time: number | null): string | null => (time === null ? null : new Date(time).toISOString());

/** A source whose component of the store tells this status. */
function stored(given: Partial<StoreStatus> = {}): SourceSituation {
  const { waitingSince, lastWrite, lostAt, remedy, ...status } = { ...FINE, ...given };
  const config = {
    ...status,
    delay_seconds: waitingSince === null ? 0 : Math.floor((NOW - waitingSince) / 1_000),
    last_write: timeOf(lastWrite),
    lost_at: timeOf(lostAt),
    hints: remedy === null ? [] : [remedy],
  };
  const state = status.error !== null ? 'down' : status.phase === 'opening' ? 'unknown' : 'up';
  return source({
    components: { 'history.store': component({ name: 'History store', status: state, config }) },
  });
}

const AWAY = { error: 'connect ECONNREFUSED', code: 'unreachable', remedy: 'Start it.' } as const;

describe('store_behind', () => {
  it('finds a store that has not been written for more than a minute, critical after ten', () => {
    const judgement = judge(storeBehind, stored({ ...AWAY, waiting: 40, waitingSince: ago(3) }));
    expect(judgement).toMatchObject({
      unknown: null,
      findings: [
        {
          ...{ severity: 'warning', subject: 'delay', since: ago(3) },
          summary: 'The history store is 3 min behind: connect ECONNREFUSED',
          evidence: { waiting: 40, delay_seconds: 180, code: 'unreachable', hints: ['Start it.'] },
        },
      ],
    });
    const later = judge(storeBehind, stored({ ...AWAY, waitingSince: ago(11) }));
    expect(later?.findings).toMatchObject([{ severity: 'critical' }]);
  });

  it('finds a store that cannot be opened, although nothing waits', () => {
    const opening = { phase: 'opening', waiting: 0, waitingSince: null, isHolder: null } as const;
    const refused = { error: 'The history has schema 9.', code: 'schema_newer', remedy: 'Upgrade.' };
    expect(judge(storeBehind, stored({ ...opening, ...refused }))?.findings).toMatchObject([
      { severity: 'warning', subject: 'delay', evidence: { code: 'schema_newer', hints: ['Upgrade.'] } },
    ]);
  });

  it('finds what was lost, for an hour', () => {
    const lost = (minutes: number) => judge(storeBehind, stored({ lost: 7, lostAt: ago(minutes) }));
    expect(lost(5)?.findings).toMatchObject([
      { severity: 'critical', subject: 'lost', since: ago(5), evidence: { lost: 7 } },
    ]);
    expect(lost(5)?.findings[0]?.summary).toBe('7 changes were lost before they were written to the store');
    expect(lost(61)).toEqual({ findings: [], unknown: null });
  });

  it('finds nothing in a store that is written in time, or was away for a moment', () => {
    expect(judge(storeBehind, stored())).toEqual({ findings: [], unknown: null });
    const moment = judge(storeBehind, stored({ ...AWAY, waitingSince: NOW - 30_000 }));
    expect(moment).toEqual({ findings: [], unknown: null });
  });

  it('says unknown before the store was opened, and nothing without a store', () => {
    const opening = { phase: 'opening', waitingSince: null } as const;
    expect(judge(storeBehind, stored(opening))).toEqual({
      findings: [],
      unknown: 'The store has not been opened yet.',
    });
    expect(judge(storeBehind, source())).toBeNull();
  });

  it('is no source that is down: what memory knows is shown', () => {
    expect(judgeServers([stored(AWAY)], {})).toEqual({ findings: [], unknown: null });
  });
});
