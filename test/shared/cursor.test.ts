import { describe, expect, it } from 'vitest';
import { decodeCursor, encodeCursor, LONGEST_CURSOR, readMark, writeMark } from '../../src/cursor.ts';

describe('a cursor', () => {
  const parts = ['list', 1.5, null, { a: ['ü', '\ud83d\ude00'] }];

  it('gives back what it was made from, and is safe in a URL', () => {
    const text = encodeCursor('tasks', parts);
    expect(text).toMatch(/^[\w-]+$/);
    expect(decodeCursor('tasks', text)).toEqual(parts);
  });

  it('of another kind or version is recognized', () => {
    expect(decodeCursor('events', encodeCursor('tasks', parts))).toBeNull();
    const later = Buffer.from('tasks2["list"]').toString('base64url');
    expect(decodeCursor('tasks', later)).toBeNull();
  });

  it.each(['', '!', 'e30', 'a b', encodeCursor('tasks', []).slice(0, -2), 'A'.repeat(LONGEST_CURSOR + 1)])(
    'is not %j',
    (text) => {
      expect(decodeCursor('tasks', text)).toBeNull();
    },
  );

  it('is not what holds no list of parts', () => {
    expect(decodeCursor('tasks', Buffer.from('tasks1{"length":1}').toString('base64url'))).toBeNull();
  });

  it('can be a part of another one, as plain text', () => {
    const mark = writeMark('walk', parts);
    expect(readMark('walk', mark)).toEqual(parts);
    expect(readMark('tasks', mark)).toBeNull();
    expect(readMark('walk', `${mark}x`)).toBeNull();
  });
});
