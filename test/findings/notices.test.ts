import { describe, expect, it } from 'vitest';
import type { Evaluation, FoundProblem, RuleOutcome } from '../../src/findings/evaluate.ts';
import { createNotices, type Notices } from '../../src/findings/notices.ts';
import type { FindingBody } from '../../src/wire.ts';
import { NOW } from './situations.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** Found so many seconds after {@link NOW}, and for so many seconds before that. */
function finding(subject: string | null, more: Partial<FoundProblem> = {}): FoundProblem {
  return {
    ...{ code: 'queue_waiting', source: 'jobs', subject, severity: 'warning', since: NOW - MINUTE },
    ...{ summary: `Queue ${subject}`, evidence: { waiting: 1 }, look: '/api/tasks/' },
    ...more,
  };
}

const rule = (more: Partial<RuleOutcome> = {}): RuleOutcome => ({
  ...{ code: 'queue_waiting', source: 'jobs', status: 'clear', reason: null, found: 0, critical: 0 },
  ...{ unlisted: [], unjudged: [] },
  ...more,
});

const bodyOf = ({ since, ...rest }: FoundProblem): FindingBody => ({
  ...rest,
  since: new Date(since).toISOString(),
});

/** @returns the number of pauses */
function update(notices: Notices, evaluation: Evaluation): number {
  const steps = notices.update(evaluation, bodyOf);
  let pauses = 0;
  while (steps.next().done !== true) pauses += 1;
  return pauses;
}

/** A host whose hook answers as told. */
function createHost(notices = createNotices(() => true), heard: string[] = []) {
  let seconds = 0;
  return {
    notices,
    heard,
    /** The rules look, so many seconds after the last time, and the host is told. */
    look(after: number, findings: readonly FoundProblem[], rules = [rule()], answers = true): void {
      seconds += after;
      const now = NOW + seconds * SECOND;
      update(notices, { findings, rules, at: now });
      for (const { notice, confirm } of notices.take(now, 100)) {
        heard.push(`${seconds} ${notice.status} ${notice.severity} ${notice.subject}`);
        if (answers) confirm();
      }
    },
  };
}

describe('what the host is told', () => {
  it('is each finding once when it is found, and once when it is gone', () => {
    const { look, heard } = createHost();
    for (let at = 0; at < 20; at++) look(5, [finding('mail')]);
    for (let at = 0; at < 40; at++) look(5, []);
    expect(heard).toEqual(['5 raised warning mail', '115 cleared warning mail']);
  });

  it('has everything that the API has, an id of its own, and cannot be changed', () => {
    const notices = createNotices(() => true);
    update(notices, { findings: [finding('mail'), finding('images')], rules: [rule()], at: NOW });
    const [first, second] = notices.take(NOW, 10).map(({ notice }) => notice);
    expect(first).toEqual({
      ...{ id: expect.stringMatching(/^[0-9a-f]{16}$/), status: 'raised', code: 'queue_waiting' },
      ...{ source: 'jobs', subject: 'mail', severity: 'warning', summary: 'Queue mail' },
      ...{ since: new Date(NOW - MINUTE).toISOString(), evidence: { waiting: 1 }, look: '/api/tasks/' },
    });
    expect(second?.id).not.toBe(first?.id);
    expect(() => Object.assign(first?.evidence ?? {}, { waiting: 2 })).toThrow(TypeError);
  });

  it('says since when it has been found, as early as any look said, until it is gone', () => {
    const notices = createNotices(() => true);
    const told = (seconds: number, since?: number, severity: 'warning' | 'critical' = 'warning') => {
      const at = NOW + seconds * SECOND;
      const findings =
        since === undefined ? [] : [finding('mail', { since: NOW + since * SECOND, severity })];
      update(notices, { findings, rules: [rule()], at });
      return notices.take(at, 10).map(({ notice, confirm }) => {
        confirm();
        return [notice.status, (Date.parse(notice.since) - NOW) / SECOND];
      });
    };
    expect(told(0, -60)).toEqual([['raised', -60]]);
    expect(told(60, 50, 'critical')).toEqual([['raised', -60]]);
    expect([told(70, -90), told(120), told(130)]).toEqual([[], [], [['cleared', -90]]]);
    expect([told(185, 185), told(195, 185)]).toEqual([[], [['raised', 185]]]);
  });

  it('is nothing that lasts for less than ten seconds', () => {
    const { look, heard } = createHost();
    const found = (since: number) => [finding('mail', { since: NOW + since * SECOND })];
    look(5, found(3));
    look(5, []);
    look(5, found(14));
    look(5, found(14));
    expect(heard).toEqual([]);
    look(5, found(14));
    expect(heard).toEqual(['25 raised warning mail']);
    look(60, []);
    look(5, found(14));
    look(60, found(14));
    expect(heard).toHaveLength(1);
  });

  it('is told at most once a minute, and in the end what is true', () => {
    const { look, heard } = createHost();
    for (let at = 0; at < 30; at++) look(10, at % 4 < 2 ? [finding('mail')] : []);
    for (let at = 0; at < 8; at++) look(10, []);
    const times = heard.map((line) => Number.parseInt(line, 10));
    expect(times.length).toBeLessThanOrEqual(7);
    expect(times.slice(1).every((time, at) => time - (times[at] ?? 0) >= 60)).toBe(true);
    expect(heard.at(-1)).toMatch(/cleared/);
    expect(heard.filter((line) => line.includes('raised'))).toHaveLength(heard.length / 2);
  });

  it('is told again once it becomes critical, and clears what was critical', () => {
    const { look, heard } = createHost();
    look(5, [finding('mail')]);
    look(30, [finding('mail', { severity: 'critical' })]);
    look(40, [finding('mail', { severity: 'critical' })]);
    look(100, [finding('mail')]);
    look(100, []);
    look(10, []);
    expect(heard).toEqual(['5 raised warning mail', '75 raised critical mail', '285 cleared critical mail']);
  });

  it.for<[string, RuleOutcome[]]>([
    ['the source is down', [rule({ status: 'unknown', reason: 'The source is down.', unjudged: null })]],
    ['the rule does not know about it', [rule({ reason: 'Its age is not known.', unjudged: ['mail'] })]],
    ['it is found and no longer listed', [rule({ status: 'found', found: 21, unlisted: ['mail'] })]],
    ['nothing of the source could be judged', [rule({ code: 'tasks_lost', reason: 'No data.' })]],
    ['its source is gone', [rule({ source: 'other' })]],
  ])('is not that it is gone when %s', ([, rules]) => {
    const { look, heard } = createHost();
    look(5, [finding('mail')]);
    for (let at = 0; at < 10; at++) look(60, [], rules);
    expect(heard).toEqual(['5 raised warning mail']);
  });

  it.for<[string, RuleOutcome[]]>([
    ['the rule does not know about others', [rule({ reason: 'Unknown.', unjudged: ['images'] })]],
    ['others are found', [rule({ status: 'found', found: 21, unlisted: ['images'] })]],
    [
      'the source has nothing any more that the rule is about',
      [rule({ code: 'tasks_lost' }), rule({ source: 'other' })],
    ],
  ])('is that it is gone although %s', ([, rules]) => {
    const { look, heard } = createHost();
    look(5, [finding('mail')]);
    look(60, [], rules);
    look(10, [], rules);
    expect(heard).toEqual(['5 raised warning mail', '75 cleared warning mail']);
  });

  it('is at most 20 findings of a rule and source, whichever are listed', () => {
    const { look, heard } = createHost();
    for (let at = 0; at < 100; at++) {
      const listed = Array.from({ length: 20 }, (_, index) => finding(`q${(at * 7 + index) % 500}`));
      const unlisted = Array.from({ length: 500 }, (_, index) => `q${index}`);
      look(5, listed, [rule({ status: 'found', found: 500, unlisted })]);
    }
    expect(heard).toHaveLength(20);
  });

  it('is found out in one pass over what is not listed, however much was found before', () => {
    const notices = createNotices(() => true);
    const unlisted = Array.from({ length: 500 }, (_, index) => `u${index}`);
    const findings = Array.from({ length: 20 }, (_, index) => finding(`q${index}`));
    update(notices, { findings, rules: [rule()], at: NOW });
    expect(update(notices, { findings: [], rules: [rule({ unlisted })], at: NOW })).toBe(500);
  });

  it('is repeated a minute after a call that failed, five times in all', () => {
    const { look, heard } = createHost();
    for (let at = 0; at < 100; at++) look(5, [finding('mail')], [rule()], false);
    expect(heard.map((line) => Number.parseInt(line, 10))).toEqual([5, 65, 125, 185, 245]);
    look(5, []);
    look(10, [], [rule()], false);
    look(60, []);
    look(60, []);
    expect(heard.slice(5)).toEqual(['515 cleared warning mail', '575 cleared warning mail']);
  });

  it('is not that something is gone of which it was never told', () => {
    const notices = createNotices(() => true);
    update(notices, { findings: [finding('mail')], rules: [rule()], at: NOW });
    update(notices, { findings: [], rules: [rule()], at: NOW + SECOND });
    update(notices, { findings: [], rules: [rule()], at: NOW + 20 * SECOND });
    expect(notices.take(NOW + 20 * SECOND, 10)).toEqual([]);
  });
});

describe('what the host was told', () => {
  it('is known to the instance that tells later', () => {
    const before = createHost();
    before.look(5, [finding('mail'), finding('images')]);
    const heard: string[] = [];
    const after = createNotices(() => true);
    after.takeIn(before.notices.text());
    const { look } = createHost(after, heard);
    look(20, [finding('mail'), finding('images')]);
    look(60, [finding('mail', { since: NOW + 70 * SECOND })]);
    look(10, [finding('mail')]);
    expect(heard).toEqual(['90 cleared warning images']);
  });

  it('is told again where it is not known whether the host took it, after a minute', () => {
    const before = createHost();
    before.look(5, [finding('mail')], [rule()], false);
    const heard: string[] = [];
    const after = createNotices(() => true);
    after.takeIn(before.notices.text());
    const { look } = createHost(after, heard);
    look(20, [finding('mail')]);
    look(45, [finding('mail')]);
    look(90, [finding('mail')]);
    expect(heard).toEqual(['65 raised warning mail']);
  });

  it('is of sources that are not told from here left out, and of two calls the later one counts', () => {
    const others = createHost();
    others.look(5, [finding('mail'), finding('mail', { source: 'other' })]);
    const own = createHost(createNotices((source) => source === 'jobs'));
    own.look(100, [finding('mail')]);
    own.notices.takeIn(others.notices.text());
    expect(JSON.parse(own.notices.text())).toMatchObject([
      { body: { source: 'jobs' }, told: { at: NOW + 100 * SECOND, unconfirmed: 0 } },
    ]);
  });

  it.for(['', '{', 'null', '{}', '[null, 1, {}, {"id": "x", "body": {}, "told": {}}]'])(
    'is nothing if it reads %s',
    (text) => {
      const notices = createNotices(() => true);
      notices.takeIn(text);
      expect(notices.text()).toBe('[]');
    },
  );

  it('does not hold anything up that another clock told in the future', () => {
    const before = createHost();
    before.look(3_600, [finding('mail')]);
    const after = createNotices(() => true);
    after.takeIn(before.notices.text());
    const heard: string[] = [];
    const { look } = createHost(after, heard);
    look(5, []);
    look(10, []);
    expect(heard).toEqual(['15 cleared warning mail']);
  });
});
