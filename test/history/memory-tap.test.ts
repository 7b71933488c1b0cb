import { describe, expect, it } from 'vitest';
import { sent, started, tapped } from './kept.ts';
import { T0, told } from './telling.ts';

describe('the tap', () => {
  it('hears of every change, once the indexes have caught up', () => {
    const { history, heard, access } = tapped();
    history.writer.recordTask(sent);
    history.writer.recordTask(started);
    expect(heard).toEqual(['event 1 task-sent', 'worker w1@a', 'event 2 task-started']);
    heard.length = 0;
    access.catchUp();
    expect(heard).toEqual(['changed a']);
    heard.length = 0;
    // Says nothing new.
    history.writer.recordTask(started);
    access.catchUp();
    expect(heard).toEqual(['worker w1@a']);
    heard.length = 0;
    history.writer.recordRelation({ parent: 'a', child: 'b', relation: 'link' });
    history.writer.recordRelation({ parent: 'a', child: 'b', relation: 'link' });
    history.writer.recordWorker({ hostname: 'w2@b', type: 'heartbeat', time: T0 });
    history.writer.recordGap();
    expect(heard).toEqual(['link a b', 'worker w2@b', 'gap']);
    heard.length = 0;
    history.close();
    expect(heard).toEqual([]);
  });

  it('hears of tasks whose root follows from another one', () => {
    const { history, heard, access } = tapped([
      told({ id: 'child', type: 'succeeded', time: T0, origin: 'result', stored: true, parentId: 'a' }),
    ]);
    expect(access.readTask('child')?.rootId).toBeNull();
    heard.length = 0;
    history.writer.recordTask({ ...sent, rootId: 'top' });
    access.catchUp();
    expect(heard).toContain('changed child');
    expect(access.readTask('child')?.rootId).toBe('top');
  });

  it('hears of a task before it is dropped, while it can still be read', () => {
    const { heard, access } = tapped(
      [1, 2, 3].map((n) => told({ id: `t${n}`, type: 'sent', time: T0 + n, name: `n${n}` })),
      { maxTasks: 2 },
    );
    expect(heard.filter((text) => text.startsWith('dropping'))).toEqual(['dropping t1 n1']);
    expect(access.droppedThrough()).toBe(T0 + 1);
  });
});
