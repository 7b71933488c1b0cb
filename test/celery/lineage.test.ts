import { describe, expect, it } from 'vitest';
import type { TaskChange } from '../../src/history/history.ts';
import { createMemoryHistory } from '../../src/history/memory-history.ts';
import { createLineage, type Lineage } from '../../src/sources/celery/lineage/lineage.ts';
import {
  createPendingLinks,
  linkedGroup,
  linkedTask,
} from '../../src/sources/celery/lineage/pending-links.ts';
import type { QueuedTask, ResultNode, Signature } from '../../src/sources/celery/protocol/messages.ts';

/** A lineage, and what it has told: `parent relation child`. */
function listen(): { lineage: Lineage; told: () => string[] } {
  const relations = new Set<string>();
  const history = createMemoryHistory();
  const lineage = createLineage({
    index: history.index,
    writer: {
      ...history.writer,
      recordRelation: ({ parent, child, relation }) => void relations.add(`${parent} ${relation} ${child}`),
    },
  });
  history.close();
  return { lineage, told: () => [...relations].sort() };
}

function change(id: string, more: Partial<TaskChange> = {}): TaskChange {
  return { id, type: 'succeeded', time: 1, origin: 'result', result: 'None', ...more };
}

function stored(
  lineage: Lineage,
  id: string,
  more: Partial<TaskChange> = {},
  children: ResultNode[] = [],
): void {
  lineage.stored({ change: change(id, more), children });
}

function received(lineage: Lineage, id: string, parentId: string, args: string): void {
  lineage.changed({ id, type: 'received', time: 1, origin: 'event', parentId, args });
}

const task = (id: string, parent: string | null = null): ResultNode => ({ id, parent, members: null });
const group = (id: string, ...ids: string[]): ResultNode => ({
  id,
  parent: null,
  members: ids.map((member) => task(member)),
});

function signature(taskId: string | null, more: Partial<Signature> = {}): Signature {
  const none = { groupId: null, type: null, tasks: [], body: null, callbacks: [], errbacks: [], chord: null };
  return { name: 'shop.add', taskId, ...none, ...more };
}

function queued(id: string, more: Partial<QueuedTask> = {}): QueuedTask {
  const none = { chain: [], callbacks: [], errbacks: [], chord: null, periodicTask: null };
  const place = { deliveryTag: '1', queue: 'celery', takenAt: null, redelivered: false };
  return { facts: { id, parentId: null }, ...place, ...none, ...more };
}

describe('the body of a chord', () => {
  it('is known by the results that it is called with', () => {
    const { lineage, told } = listen();
    stored(lineage, 'a', { groupId: 'g', result: "{'n': {'deep': [1, 2]}}" });
    stored(lineage, 'b', { groupId: 'g', result: "('x, [y', 2.5)" });
    received(lineage, 'body', 'b', "([{'n': {...}}, ['x, [y', 2.5]], 'more')");
    expect(told()).toEqual(['a chord body', 'b chord body']);
  });

  it('is known though the list of results was cut', () => {
    const { lineage, told } = listen();
    const ids = Array.from({ length: 300 }, (_, number) => `h${number}`);
    const results = ids.map((_, number) => `'result ${number}'`);
    for (const [number, id] of ids.entries()) {
      stored(lineage, id, { groupId: 'g', result: results[number] as string });
    }
    received(lineage, 'body', 'h7', `([${results.slice(0, 60).join(', ')}, 'resul...', ...],)`);
    expect(told()).toEqual(ids.map((id) => `${id} chord body`).sort());
  });

  it('is not what a member sends on by itself, such as its own result', () => {
    const { lineage, told } = listen();
    stored(lineage, 'a', { groupId: 'g', result: '5' });
    received(lineage, 'later', 'a', '([5],)');
    received(lineage, 'other', 'a', '([5, 6],)');
    stored(lineage, 'b', { groupId: 'g', result: '7' });
    expect(told()).toEqual([]);
  });

  it('is known of a header of one task once its size was published', () => {
    const { lineage, told } = listen();
    stored(lineage, 'a', { groupId: 'g', result: '5' });
    received(lineage, 'body', 'a', '([5],)');
    expect(told()).toEqual([]);
    lineage.sized('g', 1);
    expect(told()).toEqual(['a chord body']);
  });

  it('is known by the group of its header, as Celery 5.3 sets it, when no header task has listed it', () => {
    const { lineage, told } = listen();
    stored(lineage, 'a', { groupId: 'g' });
    stored(lineage, 'added', { groupId: 'g', parentId: 'b' });
    stored(lineage, 'body', { groupId: 'g', parentId: 'b' });
    stored(lineage, 'b', { groupId: 'g' }, [task('added')]);
    expect(told()).toEqual(['a chord body', 'added chord body', 'b chord body', 'b child added'].sort());
  });

  it('does not follow from a list of children that was too long to be read', () => {
    const { lineage, told } = listen();
    const ids = Array.from({ length: 9_999 }, (_, number) => `m${number}`);
    stored(lineage, 'p', {}, [group('g', ...ids)]);
    stored(lineage, 'm10000', { groupId: 'g', parentId: 'p' });
    expect(told().filter((relation) => relation.includes('chord'))).toEqual([]);
  });

  it('is what a failed header task broke, but not a task that waited for such a chord', () => {
    const { lineage, told } = listen();
    const exception = `ChordError("Dependency b raised ValueError('x')")`;
    const failed: Partial<TaskChange> = { type: 'failed', exception };
    stored(lineage, 'body', { ...failed, traceback: 'File "redis.py", line 5, in on_chord_part_return\n' });
    stored(lineage, 'waiter', { ...failed, traceback: 'File "result.py", line 5, in get\n' });
    stored(lineage, 'b', { type: 'failed', groupId: 'g' });
    stored(lineage, 'a', { groupId: 'g' });
    expect(told()).toEqual(['a chord body', 'b chord body']);
  });
});

describe('an errback', () => {
  it('is a group that the failed task has not listed, called with its id', () => {
    const { lineage, told } = listen();
    received(lineage, 'errback', 'f', "('f',)");
    stored(lineage, 'errback', { groupId: 'g', parentId: 'f' });
    stored(lineage, 'f', { type: 'failed' });
    expect(told()).toEqual(['f link_error errback']);
  });

  it('is no task of a chord that replaced the failed one', () => {
    const { lineage, told } = listen();
    received(lineage, 'header', 'f', '(1, 2)');
    stored(lineage, 'header', { groupId: 'g', parentId: 'f' });
    stored(lineage, 'f', { type: 'failed', parentId: 'header', retries: 0 });
    expect(told()).toEqual([]);
  });
});

describe('what a waiting message announces', () => {
  it('is the chain behind it, callbacks and the body, through canvases within', () => {
    const { lineage, told } = listen();
    const header = [
      signature('c'),
      signature(null, { type: 'chain', tasks: [signature('d'), signature('e')] }),
    ];
    const chord = signature(null, { type: 'chord', tasks: header, body: signature('f') });
    const chain = [signature('b', { callbacks: [signature('k')] }), chord, signature('z')];
    lineage.queued(queued('a', { chain, errbacks: [signature('x')] }));
    expect(told()).toEqual(
      [
        'a chain b',
        'b link k',
        'b chain c',
        'b chain d',
        'd chain e',
        'c chord f',
        'e chord f',
        'f chain z',
      ].sort(),
    );
    received(lineage, 'x', 'a', '()');
    expect(told()).toContain('a link_error x');
  });

  it('is found again by its place where it had no id', () => {
    const { lineage, told } = listen();
    const callbacks = [signature(null), signature(null)];
    lineage.queued(queued('a', { callbacks, chain: [signature('b')] }));
    stored(lineage, 'a', {}, [task('sent'), group('g', 'k', 'l'), task('b')]);
    expect(told().filter((relation) => relation.includes('link'))).toEqual(['a link k', 'a link l']);
  });

  it('may be nested without end', () => {
    const { lineage } = listen();
    let chord = signature('deepest');
    for (let depth = 0; depth < 50_000; depth++) chord = signature(null, { type: 'chain', tasks: [chord] });
    expect(() => lineage.queued(queued('a', { chord, facts: { id: 'a', groupId: 'g' } }))).not.toThrow();
  });
});

describe('unknown relatives', () => {
  it('are those that something names, the nearest first, however they are tied', () => {
    const { lineage } = listen();
    stored(lineage, 'a', { parentId: 'b' }, [task('c'), group('g', 'd', 'e')]);
    stored(lineage, 'b', { parentId: 'a' });
    lineage.queued(queued('e', { chain: [signature('z')] }));
    expect(lineage.unknownRelatives('a', 10)).toEqual(['b', 'c', 'd', 'e', 'z']);
    expect(lineage.unknownRelatives('a', 2)).toEqual(['b', 'c']);
    expect(lineage.unknownRelatives('nobody', 2)).toEqual([]);
  });
});

describe('pending links', () => {
  it('drop what was held longest', () => {
    const links = createPendingLinks(64 * 1024);
    for (let number = 0; number < 10_000; number++) {
      linkedTask(links, `task-${number}`);
      linkedGroup(links, `group-${number}`).members.set('m', null);
    }
    expect(links.bytes).toBeLessThanOrEqual(64 * 1024);
    expect(links.tasks.get('task-0')).toBeUndefined();
    expect(links.groups.get('group-0')).toBeUndefined();
    expect(links.tasks.get('task-9999')).toBeDefined();
    expect(links.groups.get('group-9999')).toBeDefined();
  });
});
