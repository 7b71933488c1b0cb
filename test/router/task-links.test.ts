import { describe, expect, it, vi } from 'vitest';
import type { MonitorOptions, TaskLinks } from '../../src/index.ts';
import { createMonitorRouter } from '../../src/index.ts';
import { memorySources } from '../../src/memory.ts';
import type { TaskDetailBody } from '../../src/wire.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { type Host, serve } from './host-kit.ts';

const GOOD = { text: 'Logs', url: '/logs?id=1' };

/** A host with one task. */
async function hostWith(taskLinks: unknown, more: MonitorOptions = {}): Promise<Host> {
  const sources = memorySources({ name: 'shop' });
  sources.record({ id: 'a', state: 'PENDING', args: { token: 's3cr3t', order: 7 } });
  return serve(EXPRESS, { sources, ...more, taskLinks: taskLinks as TaskLinks });
}

async function linksFrom(taskLinks: unknown, onError = vi.fn()): Promise<unknown> {
  const { get } = await hostWith(taskLinks, { onError });
  const { status, body } = await get<TaskDetailBody>('/api/tasks/a/');
  expect(status).toBe(200);
  return body.links;
}

describe('taskLinks', () => {
  it('is called for one task alone, with the task as it is served', async () => {
    const taskLinks = vi.fn<TaskLinks>((task) => [
      { text: 'Sentry', url: `https://s.io/?q=${task.task_id}` },
    ]);
    const { get } = await hostWith(taskLinks);
    const list = await get('/api/tasks/?stats=60');
    await get('/api/tasks/a/relations/');
    await get('/api/tasks/a/graph/');
    expect(taskLinks).not.toHaveBeenCalled();
    expect(list.text).not.toContain('"links"');
    const { body } = await get<TaskDetailBody>('/api/tasks/a/');
    const { sources: _, links, ...served } = body;
    expect(links).toEqual([{ text: 'Sentry', url: 'https://s.io/?q=a' }]);
    expect(taskLinks.mock.calls).toEqual([[served]]);
    expect(JSON.stringify(taskLinks.mock.calls)).not.toContain('s3cr3t');
  });

  it('is told the trace of the task', async () => {
    const sources = memorySources({ name: 'shop' });
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
    sources.record({ id: 'a', state: 'PENDING', traceparent: `00-${traceId}-00f067aa0ba902b7-01` });
    sources.record({ id: 'a', state: 'STARTED' });
    sources.record({ id: 'b', state: 'PENDING', traceparent: `00-${traceId}-x` });
    const taskLinks: TaskLinks = ({ trace_id }) =>
      trace_id === null ? [] : [{ text: 'Trace', url: `https://jaeger.example/trace/${trace_id}` }];
    const { get } = await serve(EXPRESS, { sources, taskLinks });
    const shown = async (id: string) => {
      const { trace_id, links } = (await get<TaskDetailBody>(`/api/tasks/${id}/`)).body;
      return { trace_id, links };
    };
    const url = `https://jaeger.example/trace/${traceId}`;
    expect(await shown('a')).toEqual({ trace_id: traceId, links: [{ text: 'Trace', url }] });
    expect(await shown('b')).toEqual({ trace_id: null, links: [] });
  });

  it('adds none where the host has not set it', async () => {
    expect(await linksFrom(undefined)).toEqual([]);
  });

  it('cannot change the answer', async () => {
    const onError = vi.fn();
    const change: TaskLinks = (task) => {
      (task.children as string[]).push('b');
      return [GOOD];
    };
    expect(await linksFrom(change, onError)).toEqual([]);
    expect(onError).toHaveBeenCalledTimes(1);
  });

  it.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('no');
      },
    ],
    [
      'throws nothing',
      () => {
        throw undefined;
      },
    ],
    ['returns a promise', async () => [GOOD]],
    ['returns a promise that is rejected', () => Promise.reject(new Error('late'))],
    ['returns nothing', () => undefined],
    ['returns one link', () => GOOD],
    ['returns a Set', () => new Set([GOOD])],
    [
      'returns a list that throws',
      () =>
        new Proxy([GOOD], {
          get() {
            throw new Error('trap');
          },
        }),
    ],
    [
      'returns links that throw',
      () => [
        GOOD,
        {
          get text() {
            throw new Error('trap');
          },
          url: '/',
        },
      ],
    ],
  ])('adds none where it %s, and tells the host', async (_, taskLinks) => {
    const onError = vi.fn();
    expect(await linksFrom(taskLinks, onError)).toEqual([]);
    const [[error, context]] = onError.mock.calls as [[unknown, unknown]];
    expect(context).toEqual({ code: 'source_invalid', source: null, call: 'taskLinks', suppressed: 0 });
    if (_.startsWith('returns a promise') || _ === 'returns nothing') {
      expect(error).toMatchObject({ message: expect.stringContaining('must return an array') });
    }
  });

  it.each([
    'https://example.com/?q=a&b=c#d',
    'HTTP://example.com',
    '/sentry?query=1',
    'logs/a',
    '../logs',
    '?x=1',
    '#x',
  ])('links to %s', async (url) => {
    expect(await linksFrom(() => [{ text: 'x', url }])).toEqual([{ text: 'x', url }]);
  });

  it.each([
    ['a script', 'javascript:alert(1)'],
    ['a script in any case', 'JavaScript:alert(1)'],
    ['a script behind a space', ' javascript:alert(1)'],
    ['a script with a tab in it', 'java\tscript:alert(1)'],
    ['a script behind a control character', '\u0001javascript:alert(1)'],
    ['data', 'data:text/html,x'],
    ['a blob', 'blob:https://example.com/x'],
    ['a file', 'file:///etc/passwd'],
    ['another site', '//evil.example'],
    ['another site behind backslashes', '\\\\evil.example'],
    ['another site behind a slash and a backslash', '/\\evil.example'],
    ['a scheme without slashes', 'https:evil.example'],
    ['an address with a user', 'https://user@example.com/'],
    ['an address with a password', 'https://:password@example.com/'],
    ['nothing', ''],
    ['no text', 7],
    ['a text that is too long', `/${'x'.repeat(3_000)}`],
  ])('never links to %s', async (_, url) => {
    const onError = vi.fn();
    expect(await linksFrom(() => [{ text: 'bad', url }, GOOD], onError)).toEqual([GOOD]);
    expect(onError).toHaveBeenCalledTimes(1);
  });

  it('adds at most ten, with texts of at most 200 characters', async () => {
    const links = (await linksFrom(() =>
      Array(1_000_000).fill({ text: '\ud83d\ude00'.repeat(500), url: '/' }),
    )) as {
      text: string;
    }[];
    expect(links).toHaveLength(10);
    expect(links[0]?.text).toBe('\ud83d\ude00'.repeat(100));
    expect(await linksFrom(() => [null, 5, { url: '/' }, { text: ' ', url: '/' }, { text: 'x' }])).toEqual(
      [],
    );
  });

  it.each([true, 'https://example.com', [GOOD], {}])('throws at creation for %j', (taskLinks) => {
    expect(() => createMonitorRouter({ authorize: false, taskLinks: taskLinks as never })).toThrow(
      /express-task-monitor.*taskLinks.*\(task\) => \[\{ text: 'Logs'/s,
    );
  });
});
