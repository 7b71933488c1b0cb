import { describe, expect, it } from 'vitest';
import type { GraphNodeBody } from '../../src/client.ts';
import { endText } from '../../src/dashboard/graph/end-text.ts';
import { plainRule } from '../../src/dashboard/schedules/plain-rule.ts';
import { axisLabel, chartTime } from '../../src/dashboard/text/moments.ts';
import { bytes, count, duration, percent } from '../../src/dashboard/text/numbers.ts';
import { pretty } from '../../src/dashboard/text/pretty.ts';

describe('lengths of time', () => {
  it.each([
    [0, '0 ms'],
    [0.4, '<1 ms'],
    [850, '850 ms'],
    [999.6, '1.0 s'],
    [2_400, '2.4 s'],
    [59_600, '1 min'],
    [192_000, '3 min 12 s'],
    [7_500_000, '2 h 5 min'],
    [273_600_000, '3 d 4 h'],
    [-2_400, '−2.4 s'],
  ])('reads %d ms as %s', (ms, text) => {
    expect(duration(ms)).toBe(text);
  });
});

describe('numbers', () => {
  it.each([
    0, 12, 999, 1_000, 12_345, 123_456, 1_234_567, -123, -1_234, 0.0004, 33.333_33, 1_234.567_8,
    999_999.999_9,
  ])('has the separators of %d', (value) => {
    expect(count(value)).toBe(new Intl.NumberFormat('en-US').format(value));
  });
});

describe('rules of schedules', () => {
  it.each([
    ['every 30 s', 'Every 30 s'],
    ['* * * * * (m/h/dM/MY/d)', 'Every minute'],
    ['0 * * * * (m/h/dM/MY/d)', 'Hourly at :00'],
    ['*/5 * * * * (m/h/dM/MY/d)', 'Every 5 min'],
    ['*/7 * * * *', '*/7 * * * *'],
    ['30 */2 * * *', 'Every 2 h at :30'],
    ['0 3 * * * (m/h/dM/MY/d)', 'Daily at 03:00'],
    ['0 7 * * 1 (m/h/dM/MY/d)', 'Mondays at 07:00'],
    ['5 7 * * mon-fri', 'Mondays to Fridays at 07:05'],
    ['0 0 1 * *', 'Monthly on day 1 at 00:00'],
    ['0 0 6 * * *', 'Daily at 06:00'],
    ['*/30 0 3 * * 1-5', '*/30 0 3 * * 1-5'],
    ['0 0 29 2 1', '0 0 29 2 1'],
    ['every 1 h (at most 5 runs)', 'Every 1 h (at most 5 runs)'],
    ['sunset', 'sunset'],
    ['', ''],
  ])('read %j as %j', (rule, text) => {
    expect(plainRule(rule)).toBe(text);
  });
});

describe('times of a chart', () => {
  const at = new Date('2026-11-05T14:02:11Z');
  const day = 86_400_000;

  it('are those of the clock within a day, and have dates beyond it', () => {
    expect([axisLabel(at, 'utc', 90_000), chartTime(at, 'utc', 90_000)]).toEqual(['14:02:11', '14:02:11']);
    expect([axisLabel(at, 'utc', day), chartTime(at, 'utc', day)]).toEqual(['14:02', '14:02']);
    expect([axisLabel(at, 'utc', 7 * day), chartTime(at, 'utc', 7 * day)]).toEqual([
      'Nov 5',
      '2026-11-05 14:02',
    ]);
  });
});

describe('figures', () => {
  it('have units that people read', () => {
    expect([bytes(5), bytes(5_210_000), bytes(999_600)]).toEqual(['5 B', '5.2 MB', '1.0 MB']);
    expect([percent(1, 80), percent(1, 2), percent(0, 5), percent(0, 0)]).toEqual([
      '1.3 %',
      '50 %',
      '0 %',
      '–',
    ]);
  });
});

const LONG = 'x'.repeat(60);

describe('a value', () => {
  it('that is short stays as it is', () => {
    for (const text of ["(1, 'a')", '', 'nothing', 'a\n[1]']) expect(pretty(text)).toBe(text);
  });

  it('of JSON is laid out', () => {
    const value = { a: [1, 2], b: LONG, c: { d: LONG } };
    expect(pretty(JSON.stringify(value))).toBe(JSON.stringify(value, null, 2));
  });

  it("of Python's repr is laid out over lines, and only there", () => {
    const text = `({'a': [1, 2], 'b': '${LONG}, (not a bracket', "it's": (1,)}, <Order: ${LONG}>)`;
    const laid = pretty(text);
    expect(laid.split('\n').length).toBeGreaterThan(4);
    expect(laid).toContain("\n    'a': [1, 2],\n");
    expect(laid).toContain('(1,)');
    expect(laid.replaceAll(/\s/g, '')).toBe(text.replaceAll(/\s/g, ''));
  });

  it.each([
    `[${'('.repeat(5_000)}`,
    `{'a': '${LONG}${LONG}…`,
    `)]}${LONG}${LONG}([{`,
    `'${LONG}\\'${LONG}(`,
    `${'['.repeat(100)}1${']'.repeat(100)}`,
  ])('that is broken or cut keeps every character: %#', (text) => {
    expect(pretty(text).replaceAll(/\s/g, '')).toBe(text.replaceAll(/\s/g, ''));
  });
});

describe('the end of a workflow', () => {
  const node = (id: string, state: string | null, flags: GraphNodeBody['flags'] = []): GraphNodeBody =>
    ({ id, state, flags, kind: null, members: null }) as unknown as GraphNodeBody;
  const edge = (source: string, target: string, kind: string) => ({
    ...{ id: `${source}->${target}:${kind}`, source, target, kind },
  });
  const nodes = [node('a', 'SUCCESS'), node('b', 'FAILURE'), node('c', null)];

  it('is that of the tasks that ran, where others never ran', () => {
    const edges = [edge('a', 'b', 'chain'), edge('b', 'c', 'chain')];
    expect(endText({ complete: true, nodes, edges })).toBe(
      'All tasks that ran have ended. 1 more task never ran.',
    );
    expect(endText({ complete: false, nodes, edges })).toBe('Some tasks have not ended.');
  });

  it('counts a task that failed because another one did as one that never ran', () => {
    const failed = [node('a', 'FAILURE'), node('b', 'FAILURE', ['consequence'])];
    expect(endText({ complete: true, nodes: failed, edges: [edge('a', 'b', 'chord')] })).toBe(
      'All tasks that ran have ended. 1 more task never ran.',
    );
  });

  it('is that of all tasks, where one is only known as a parent', () => {
    expect(endText({ complete: true, nodes, edges: [edge('c', 'a', 'child')] })).toBe(
      'All tasks have ended.',
    );
  });
});
