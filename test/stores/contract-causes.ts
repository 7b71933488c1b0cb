/** What every store must do with the causes of failures. */
import { expect, it } from 'vitest';
import { DAY, type Open, storedQuery, taskOf, walk } from './samples.ts';

export function describeCauses(open: Open): void {
  it('finds failures by their cause, newest first', async () => {
    const { session } = await open();
    const failed = { state: 'FAILURE', cause: 'c1' };
    await session.tasks.write([
      taskOf('old', { ...failed, timestamp: 1, day: DAY - 1 }),
      taskOf('new', { ...failed, timestamp: 3 }),
      taskOf('other', { ...failed, cause: 'c2', timestamp: 2 }),
      taskOf('none', { ...failed, cause: '', timestamp: 4 }),
      taskOf('unknown', { ...failed, cause: null, timestamp: 5 }),
    ]);
    expect(await walk(session, { causes: ['c1'], limit: 1 })).toEqual(['new', 'old']);
    expect(await walk(session, { causes: ['c1', 'c2', 'c3'] })).toEqual(['new', 'other', 'old']);
    expect(await session.tasks.count(storedQuery({ causes: ['c1'], since: new Date(2) }), 9)).toBe(1);
    const again = taskOf('new', { version: 2, timestamp: 6 });
    expect(await session.tasks.write([again])).toEqual(new Set(['new']));
    expect(await walk(session, { causes: ['c1'] })).toEqual(['old']);
    expect((await session.tasks.read(['other', 'none'])).map(({ cause }) => cause).toSorted()).toEqual([
      '',
      'c2',
    ]);
  });
}
