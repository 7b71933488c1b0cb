import { describe, expect, it } from 'vitest';
import { createMatcher, readTaskId, splitTarget } from '../../src/http/path.ts';

const ROWS = [
  '/healthcheck',
  '/api/tasks/',
  '/api/tasks/{task_id}/',
  '/api/tasks/{task_id}/graph/',
  '/metrics',
].map((path) => ({ path }));
const match = createMatcher(ROWS);

describe('a target', () => {
  it.each([
    ['/api/tasks/?limit=1', '/api/tasks/', 'limit=1'],
    ['/api/tasks/', '/api/tasks/', ''],
    ['/api/tasks/?', '/api/tasks/', ''],
    ['/api/tasks/??a=1', '/api/tasks/', '?a=1'],
    ['/api/tasks/?a=1#part', '/api/tasks/', 'a=1'],
    ['/api/tasks/#part?a=1', '/api/tasks/', ''],
    ['http://example.com/api/tasks/?a=http://b/?c', '/api/tasks/', 'a=http://b/?c'],
    ['http://example.com', '/', ''],
    ['http://example.com?a=1', '/', 'a=1'],
    ['/api/tasks/http://x/', '/api/tasks/http://x/', ''],
    ['//example.com/api/tasks/', '//example.com/api/tasks/', ''],
    ['*', '*', ''],
  ])('%s consists of path %s and query %j', (target, path, search) => {
    expect(splitTarget(target)).toEqual({ path, search });
  });
});

describe('a path', () => {
  it.each([
    ['/healthcheck', '/healthcheck', null, null],
    ['/healthcheck/', '/healthcheck', null, '../healthcheck'],
    ['/api/tasks/', '/api/tasks/', null, null],
    ['/api/tasks', '/api/tasks/', null, './tasks/'],
    ['/api/tasks/a/', '/api/tasks/{task_id}/', 'a', null],
    ['/api/tasks/a:b', '/api/tasks/{task_id}/', 'a:b', './a:b/'],
    ['/api/tasks/a%2Fb/graph', '/api/tasks/{task_id}/graph/', 'a%2Fb', './graph/'],
    ['/api/tasks/graph/', '/api/tasks/{task_id}/', 'graph', null],
    ['/api/tasks//', '/api/tasks/{task_id}/', '', null],
    ['/api/tasks//graph/', '/api/tasks/{task_id}/graph/', '', null],
  ])('%s is %s', (path, row, segment, canonical) => {
    expect(match(path)).toEqual({ row: { path: row }, segment, canonical });
  });

  it.each([
    '/',
    '',
    '*',
    '//',
    '/api',
    '/api/',
    '/API/tasks/',
    '/api/Tasks/',
    '/api//tasks/',
    '//api/tasks/',
    '/api/t%61sks/',
    '/api/tasks/a/b/',
    '/api/tasks/a/graph/updates/more/',
    '/api/tasks/a/graph//',
    '/metrics//',
    '/metrics/x',
    '/healthcheck;x',
    '/{task_id}/',
  ])('%j is not ours', (path) => {
    expect(match(path)).toBeNull();
  });
});

describe('a task id', () => {
  function read(segment: string) {
    const faults: string[] = [];
    return { id: readTaskId(segment, (_, detail) => faults.push(detail)), faults: faults.length };
  }

  it.each([
    ['a%2Fb', 'a/b'],
    ['%2e%2e', '..'],
    ['a;b=c', 'a;b=c'],
    ['a+b', 'a+b'],
    ['a%20b', 'a b'],
    ['__proto__', '__proto__'],
    ['%F0%9F%92%A3', '💣'],
    ['%25zz', '%zz'],
    ['a%09b', 'a\tb'],
    ['%00', '\u0000'],
    ['a%0D%0Ab', 'a\r\nb'],
    ['%7F', '\u007f'],
    ['%C2%85', '\u0085'],
    ['x'.repeat(512), 'x'.repeat(512)],
    ['%F0%9F%92%A3'.repeat(512), '💣'.repeat(512)],
  ])('%s is read as %s', (segment, id) => {
    expect(read(segment)).toEqual({ id, faults: 0 });
  });

  it.each(['', '%', '%zz', '%f', '%ff', '%C3%28', '%ED%A0%80', 'x'.repeat(513)])(
    '%s is found fault with',
    (segment) => {
      expect(read(segment)).toEqual({ id: null, faults: 1 });
    },
  );
});
