import { expect } from 'vitest';
import type { ProblemBody } from '../../src/wire.ts';
import { ask } from '../helpers/ask.ts';
import { askStream, type OpenStream } from '../helpers/ask-stream.ts';
import { until } from '../helpers/redis-server.ts';
import { AHEAD, install, type Recipe, type RunningHost, start } from './host-project.ts';

const FEED = '/api/events/latest/';

/** Headers of a request. */
export type Headers = Readonly<Record<string, string>>;

/** A recipe of the page on access control, with what it needs beside Express and the file that the recipes share. */
export function guard(heading: string, packages: Recipe['packages'] = {}, path = '/monitor'): Recipe {
  return {
    document: 'docs/guarding.md',
    heading,
    others: ['Recipes'],
    packages: { express: '5.3.0', ...packages },
    start: [...AHEAD, 'server.mjs'],
    path,
  };
}

/** Installs a recipe and starts it. */
export async function startGuard(recipe: Recipe, settings: NodeJS.ProcessEnv = {}): Promise<RunningHost> {
  return await start(recipe, await install(recipe), settings);
}

/** What a guard answers to a browser that opens the page, and to clients that ask for JSON and for a stream. */
export async function refusals(base: string, headers: Headers = {}) {
  const [page, tasks, stream] = await Promise.all([
    ask(base, '/', { headers: { accept: 'text/html', ...headers }, ours: false }),
    ask<ProblemBody>(base, '/api/tasks/', { headers }),
    ask<ProblemBody>(base, FEED, { headers: { ...headers, accept: 'text/event-stream' } }),
  ]);
  return {
    page: page.headers.location === undefined ? page.status : `${page.status} ${page.headers.location}`,
    tasks: `${tasks.status} ${tasks.body.code}`,
    stream: `${stream.status} ${stream.body.code}`,
  };
}

/** Opens a stream, which has to tell what happens. */
export async function openStream(base: string, headers: Headers): Promise<OpenStream<unknown>> {
  const stream = await askStream(base, FEED, headers);
  await until(() => stream.messages.length > 1);
  return stream;
}

/** Expects that a stream ends once it is so old, with the hint to come back. */
export async function expectEnd(host: RunningHost, stream: OpenStream<unknown>, ms: number): Promise<void> {
  expect(stream.isOver()).toBe(false);
  host.goAhead(ms);
  await until(() => stream.isOver());
  expect(stream.text()).toContain('retry: 2000');
}
