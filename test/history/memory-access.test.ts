import { describe, expect, it } from 'vitest';
import { createRedactor } from '../../src/redact.ts';
import { done, kept, sent, started, tapped } from './kept.ts';
import { CONTEXT, idsOf, page, T0, told } from './telling.ts';

describe('an absorbed task', () => {
  it('is known as it was, counts as no event and is not listed in the feed', async () => {
    const { history, heard, access } = tapped();
    expect(access.absorbTask(kept([sent, started, done]), T0 + 20)).toBe('same');
    expect(heard).toEqual([]);
    expect(idsOf((await page(history, { states: ['SUCCESS'], names: ['lab.add'] })).tasks)).toEqual(['a']);
    const { events } = await history.reader.listEvents(
      { limit: 9, since: null, states: [], workers: [], tasks: [] },
      CONTEXT,
    );
    expect(events).toEqual([]);
    const { eventsReceived, tasks, workers } = await history.reader.getStats(CONTEXT);
    expect({ eventsReceived, tasks, workers }).toEqual({ eventsReceived: 0, tasks: 1, workers: 0 });
    // Again, and what it was before.
    expect(access.absorbTask(kept([sent, started, done]), T0 + 20)).toBe('same');
    expect(access.absorbTask(kept([sent]), T0 + 20)).toBe('merged');
    expect(heard).toEqual([]);
    history.writer.recordTask(done);
    access.catchUp();
    expect(heard).toEqual(['worker w1@a']);
  });

  it('is merged with what is known, which is reported if nobody has heard of it yet', async () => {
    const { history, heard, access } = tapped();
    history.writer.recordTask(done);
    expect(access.absorbTask(kept([sent, started]), T0 + 10)).toBe('merged');
    expect(heard).toContain('changed a');
    const task = await history.reader.getTask('a', CONTEXT);
    expect(task).toMatchObject({ name: 'lab.add', state: 'SUCCESS', queue: 'celery', result: '3' });
    expect(task?.timeline).toHaveLength(3);
    expect(access.readTask('a')).toEqual(kept([sent, started, done]));
  });

  it('keeps a root that followed from a task that is not known any more', async () => {
    const { history, heard, access } = tapped();
    const child = { record: kept([{ ...sent, parentId: 'p' }], 'child').record, rootId: 'top' };
    expect(access.absorbTask(child, T0)).toBe('same');
    expect(access.readTask('child')?.rootId).toBe('top');
    expect(idsOf((await page(history, { rootId: 'top' })).tasks)).toEqual(['child']);
    // Its parent comes later, and says the same.
    expect(access.absorbTask({ ...kept([{ ...sent, parentId: 'top' }], 'p'), rootId: 'top' }, T0)).toBe(
      'same',
    );
    expect(heard).toEqual([]);
  });

  it('is refused where it does not fit, and counts as dropped', () => {
    const { history, access, clock } = tapped([], { maxTasks: 2, maxAgeMs: 3_600_000 });
    const at = (time: number, id: string) => access.absorbTask(kept([{ ...sent, time }], id), time);
    expect(access.droppedThrough()).toBe(Number.NEGATIVE_INFINITY);
    expect([at(T0 + 2, 'b'), at(T0 + 3, 'c')]).toEqual(['same', 'same']);
    expect(access.droppedThrough()).toBe(Number.NEGATIVE_INFINITY);
    expect(at(T0 + 1, 'a')).toBe('refused');
    expect(access.droppedThrough()).toBe(T0 + 1);
    expect(at(T0 + 4, 'd')).toBe('same');
    expect(access.droppedThrough()).toBe(T0 + 2);
    expect(access.readTask('b')).toBeNull();
    // What was heard of longest ago is dropped for its age.
    clock.now = T0 + 3 + 3_600_001;
    expect(at(T0 + 3, 'e')).toBe('refused');
    access.catchUp();
    expect([access.readTask('c'), access.readTask('d')?.record.id]).toEqual([null, 'd']);
    expect(access.droppedThrough()).toBe(T0 + 3);
    history.close();
    expect(at(T0 + 9, 'f')).toBe('refused');
  });

  it('is open like any other, after those that were heard of before', () => {
    const { history, access, clock } = tapped();
    clock.now = T0 + 30_000;
    history.writer.recordTask({ ...started, id: 'live', retries: 1 });
    access.absorbTask(kept([sent], 'late'), T0 + 40_000);
    access.absorbTask(kept([sent, started], 'new'), T0 + 20_000);
    access.absorbTask(kept([sent, { ...started, retries: 2 }], 'old'), T0 + 10_000);
    access.absorbTask(kept([sent, started, done], 'done'), T0 + 10_000);
    const open = history.index.listOpen(9).map(({ id, heardAt }) => [id, heardAt - T0]);
    expect(open).toEqual([
      ['old', 10_000],
      ['new', 20_000],
      ['live', 30_000],
      ['late', 40_000],
    ]);
    expect(history.index.retriesOf('old')).toBe(2);
    expect(history.index.sentAt('late')).toBe(T0);
    expect(history.index.openTask('new')).toMatchObject({ worker: 'w1@a', state: 'STARTED' });
    // Once it is looked at, it goes to the end; once it has ended, it is gone.
    history.writer.recordMissing('late', true);
    history.writer.recordTask({ ...done, id: 'old' });
    expect(history.index.listOpen(9).map(({ id }) => id)).toEqual(['new', 'live', 'late']);
    expect(history.index.wouldKeep(T0)).toBe(true);
  });

  it('is not lost before its worker had time to be heard', async () => {
    const { history, access, clock } = tapped();
    access.absorbTask(kept([sent, started]), T0 + 10);
    const flags = async () => (await history.reader.getTask('a', CONTEXT))?.flags;
    expect(await flags()).toEqual([]);
    clock.now += 61_000;
    expect(await flags()).toEqual(['worker_lost']);
  });

  it('is redacted once', async () => {
    const inner = createRedactor({});
    const texts: string[] = [];
    const text: typeof inner.text = (...args) => {
      texts.push(args[0]);
      return inner.text(...args);
    };
    const redactor = { ...inner, text };
    const failed = told({
      type: 'failed',
      time: T0 + 20,
      exception: 'password=abc',
      traceback: 'key=hunter2',
    });
    const task = kept([{ ...sent, args: "password='x'" }, failed], 'a', { redactor });
    expect(JSON.stringify(task)).not.toContain('abc');
    texts.length = 0;
    const { history, access } = tapped([], { redactor });
    access.absorbTask(task, T0);
    const shown = await history.reader.getTask('a', CONTEXT);
    expect(shown?.args).toBe(task.record.args);
    expect(shown?.redacted).toBe(true);
    expect(access.absorbTask(task, T0)).toBe('same');
    expect(access.readTask('a')).toEqual(task);
    expect(texts).toEqual([]);
    // What arrives raw is redacted, and is the same then.
    const late = tapped([{ ...sent, args: "password='x'" }], { redactor });
    expect(late.access.absorbTask(task, T0)).toBe('same');
    expect(late.access.readTask('a')).toEqual(task);
  });

  it('says of which texts it has the beginning only, through any number of processes', async () => {
    const long = 'x'.repeat(3_000);
    const task = kept([{ ...sent, args: long, kwargs: long }, done], 'a', { maxValueLength: 2_000 });
    expect(task.shortened).toEqual(['args', 'kwargs']);
    const { history, access } = tapped();
    expect(access.absorbTask(task, T0)).toBe('same');
    expect(access.readTask('a')).toEqual(task);
    expect((await history.reader.getTask('a', CONTEXT))?.truncated).toEqual(['args', 'kwargs']);
    // Who has the whole text brings it.
    expect(access.absorbTask(kept([{ ...sent, args: long, kwargs: long }, done]), T0)).toBe('same');
    expect(access.readTask('a')).toMatchObject({ shortened: [], record: { args: long, truncated: [] } });
    expect(access.absorbTask(task, T0)).toBe('merged');
    expect(access.readTask('a')?.record.args).toBe(long);
  });
});

describe('absorbed relations and coverage', () => {
  it('make roots and groups, and are not reported', () => {
    const { access, heard } = tapped();
    access.absorbRelation({ parent: 'g', child: 'a', relation: 'group' });
    access.absorbTask(kept([sent]), T0);
    expect(access.readTask('a')?.record.groupId).toBe('g');
    expect(heard).toEqual([]);
  });

  it('count spans as seen that others have covered', async () => {
    const { history, access, clock } = tapped();
    const since = async () => (await history.reader.getActivity(CONTEXT)).since - T0;
    expect(await since()).toBe(60_000);
    access.absorbCoverage(T0 - 100_000, T0 + 20_000);
    // The restart took 40 s.
    expect(await since()).toBe(60_000);
    access.absorbCoverage(T0 + 10_000, T0 + 50_000);
    // Now no more than moments are missing.
    expect(await since()).toBe(-100_000);
    clock.now += 1_000;
    history.writer.recordGap();
    access.absorbCoverage(Number.NaN, T0);
    expect(await since()).toBe(-100_000);
  });
});
