import { describe, expect, it } from 'vitest';
import { decodeCursor, encodeCursor } from '../../src/cursor.ts';
import { decodeTaskCursor, encodeTaskCursor } from '../../src/routes/task-cursor.ts';

describe('a cursor', () => {
  it('gives back what it was made from, to the kind of list that made it', () => {
    const text = encodeCursor('tasks', ['ünï', null, 5]);
    expect(text).toMatch(/^[\w-]+$/);
    expect(decodeCursor('tasks', text)).toEqual(['ünï', null, 5]);
    expect(decodeCursor('events', text)).toBeNull();
  });

  it.each([
    '',
    'x',
    'null',
    '2026-11-21T02:00:00.000Z',
    '../../etc/passwd',
    Buffer.from('{"kind":"tasks"}').toString('base64url'),
    Buffer.from('"tasks"').toString('base64url'),
    'x'.repeat(10_000),
  ])('is not what reads %j', (text) => {
    expect(decodeCursor('tasks', text)).toBeNull();
  });
});

describe('a cursor of tasks', () => {
  it.each([
    { key: 1_795_226_400_123, id: 'a' },
    { key: 'shop.pay', id: 'a/b', mark: 'x' },
    { key: null, id: '💣' },
  ])('keeps the place %o', (position) => {
    expect(decodeTaskCursor(encodeTaskCursor('abc', position))).toEqual({ list: 'abc', position });
  });

  it.each([
    [['abc']],
    [['abc', {}, 'a']],
    [['abc', 5, 6]],
    [[1, 5, 'a']],
    [['abc', 5, 'a', 6]],
    [['abc', 5, 'a', 'x', 'more']],
  ])('is not what holds %j', (parts) => {
    expect(decodeTaskCursor(encodeCursor('tasks', parts))).toBeNull();
  });
});
