import { describe, expect, it } from 'vitest';
import type { EventsBody, GraphBody, ProblemBody, TasksBody } from '../../src/wire.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { serve } from '../router/host-kit.ts';
import { createShop } from '../router/shop-sources.ts';

/** Each path that goes on from a cursor, with one that it has given. */
async function given() {
  const { get } = await serve(EXPRESS, { sources: createShop().sources });
  const list = (await get<TasksBody>('/api/tasks/?limit=5')).body.next_cursor ?? '';
  const feed = (await get<EventsBody>('/api/events/latest/')).body.cursor;
  const graph = (await get<GraphBody>('/api/tasks/task-0001/graph/')).body.meta.cursor;
  const places: readonly (readonly [path: string, cursor: string])[] = [
    ['/api/tasks/?cursor=', list],
    ['/api/events/latest/?since=', feed],
    ['/api/tasks/task-0001/graph/updates/?since=', graph],
  ];
  return { get, places };
}

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

const NONE: readonly string[] = [
  ...['x', 'null', '../../etc/passwd', '%00', 'x'.repeat(10_000)],
  ...[encoded({ kind: 'tasks' }), encoded('tasks'), encoded(['tasks', ['abc', 5, 'a']]), encoded([])],
];

describe('a cursor', () => {
  it('is taken where it was given, and is made of characters that a URL may have', async () => {
    const { get, places } = await given();
    for (const [path, cursor] of places) {
      expect(cursor).toMatch(/^[\w-]+$/);
      expect([path, (await get(path + cursor)).status]).toEqual([path, 200]);
    }
  });

  it('is refused where another was given', async () => {
    const { get, places } = await given();
    for (const [path, own] of places) {
      for (const [, cursor] of places.filter(([, one]) => one !== own)) {
        const { status, body } = await get<ProblemBody>(path + cursor);
        expect([path, status, body.code]).toEqual([path, 400, 'invalid_parameter']);
      }
    }
  });

  it('is refused when its key is not of the type that the list is sorted by', async () => {
    const { get } = await given();
    for (const [sort, key] of [
      ['timestamp', 'abc'],
      ['runtime', '5'],
      ['name', 5],
    ]) {
      const path = `/api/tasks/?sort=${sort}&limit=5`;
      const { next_cursor } = (await get<TasksBody>(path)).body;
      const text = Buffer.from(next_cursor ?? '', 'base64url').toString();
      const [list, , ...rest] = JSON.parse(text.slice(text.indexOf('[')));
      const forged = text.slice(0, text.indexOf('[')) + JSON.stringify([list, key, ...rest]);
      const cursor = Buffer.from(forged).toString('base64url');
      const { status, body } = await get<ProblemBody>(`${path}&cursor=${cursor}`);
      expect([sort, status, body.errors?.[0]?.parameter]).toEqual([sort, 400, 'cursor']);
      expect((await get(`${path}&cursor=${next_cursor}`)).status).toBe(200);
    }
  });

  it('is refused when it is none, or was cut or changed', async () => {
    const { get, places } = await given();
    for (const [path, cursor] of places) {
      const middle = cursor.length >> 1;
      const changed = `${cursor.slice(0, middle)}${cursor[middle] === 'A' ? 'B' : 'A'}${cursor.slice(middle + 1)}`;
      for (const text of [...NONE, cursor.slice(0, middle), changed]) {
        const { status, body } = await get<ProblemBody>(path + text);
        expect([path, text.slice(0, 80), status, body.code]).toEqual([
          ...[path, text.slice(0, 80), 400, 'invalid_parameter'],
        ]);
      }
    }
  });
});
