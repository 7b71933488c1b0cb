import { expect, it } from 'vitest';
import { combineSources } from '../../src/index.ts';
import type { TaskEvent } from '../../src/model.ts';
import type { SourceStatus, TaskEventSource } from '../../src/source.ts';
import type { EventsBody } from '../../src/wire.ts';
import { askStream } from '../helpers/ask-stream.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { serve, until } from '../router/host-kit.ts';
import { at } from '../router/shop-sources.ts';
import { eventSource } from './combine-kit.ts';

function feed(name: string) {
  const events: TaskEvent[] = [{ id: '1', type: 'task-sent', timestamp: at(1) }];
  const state: { status: SourceStatus } = { status: { ok: true, asOf: at(1), revision: 1 } };
  const part: TaskEventSource = { ...eventSource(name, events), status: () => state.status };
  return { events, state, sources: { events: part } };
}

it('a stream of two sources goes on when one of them goes away, and tells of it', async () => {
  const [east, west] = [feed('east'), feed('west')];
  const { base } = await serve(EXPRESS, { sources: combineSources(east.sources, west.sources) });
  const stream = await askStream<EventsBody>(base, '/api/events/latest/');
  const message = async (index: number): Promise<EventsBody | undefined> => {
    await until(() => stream.messages.length > index);
    return stream.messages[index]?.body;
  };
  expect((await message(0))?.sources.map(({ ok }) => ok)).toEqual([true, true]);
  west.state.status = { ok: false, asOf: at(1), revision: 1 };
  expect((await message(1))?.sources.map(({ ok }) => ok)).toEqual([true, false]);
  east.events.push({ id: '2', type: 'task-failed', timestamp: at(99) });
  east.state.status = { ok: true, asOf: at(99), revision: 2 };
  expect((await message(2))?.events.map(({ id }) => id)).toEqual(['east.2']);
  expect(stream.isOver()).toBe(false);
  east.state.status = { ok: false, asOf: at(99), revision: 2 };
  await until(() => stream.isOver());
  expect(stream.text()).toContain('retry: 2000');
});
