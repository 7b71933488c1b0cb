/** Puts the corpus, of which `redactor.test.ts` always tries everything, wherever a source may put a text of its users, and reads back everything that the routes answer. */
import type { MonitorSources } from '../../src/index.ts';
import type { MemorySources } from '../../src/memory.ts';
import type { TasksBody } from '../../src/wire.ts';
import { type Answer, keepAlive } from '../helpers/ask.ts';
import { askStream } from '../helpers/ask-stream.ts';
import { sample } from '../helpers/cases.ts';
import { until } from '../helpers/redis-server.ts';
import type { Host } from '../router/host-kit.ts';
import { CUT_TEXTS, HARMLESS_TEXTS, type SecretText, WHOLE_TEXTS } from './corpus/index.ts';

/** An error of the host's with a stack that does not depend on where the test stands. */
function errorOf(text: string): Error {
  return Object.assign(new Error(text), { stack: `Error: ${text}\n    at charge (/srv/shop.js:1:2)` });
}

/** Ids of the tasks that hold a text: `secret-7`, `harmless-7`. */
export const idOf = (kind: 'secret' | 'harmless', index: number): string => `${kind}-${index}`;

/** Texts with secrets that a host may hand over whole: one that is cut says so by dots. */
export const SECRET_TEXTS: readonly SecretText[] = sample([
  ...WHOLE_TEXTS,
  ...CUT_TEXTS.filter(({ text }) => /(?:\.{3}|…)$/.test(text)),
]);

/** Texts that must come out as they are. */
export const PLAIN_TEXTS: readonly string[] = sample(HARMLESS_TEXTS);

/** Records a task for each text, all of one workflow. */
export function recordCorpus(queue: Pick<MemorySources, 'record'>, now: number): void {
  const record = (id: string, text: string): void => {
    const common = {
      id,
      name: 'shop.charge',
      rootId: 'root',
      parentId: 'root',
      queue: 'mail',
      worker: 'w@1',
    };
    queue.record({ ...common, state: 'STARTED', timestamp: now - 2_000, args: text, kwargs: { note: text } });
    queue.record({ ...common, state: 'FAILURE', timestamp: now - 1_000, error: errorOf(text), detail: text });
    queue.record({ ...common, id: `${id}-done`, state: 'SUCCESS', timestamp: now - 500, result: [text] });
  };
  // The feed answers with the newest, which should be those with secrets.
  for (const [index, text] of PLAIN_TEXTS.entries()) record(idOf('harmless', index), text);
  for (const [index, { text }] of SECRET_TEXTS.entries()) record(idOf('secret', index), text);
  queue.record({ id: 'root', state: 'SUCCESS', name: 'shop.root', timestamp: now - 3_000 });
}

/** Schedules whose every text is one of the corpus. */
export const schedules = SECRET_TEXTS.map(({ text }, index) => ({
  id: String(index),
  name: `entry ${index}`,
  schedule: text,
  args: text,
  kwargs: { note: text },
}));

/** Components whose settings and address hold the corpus. */
export const components = SECRET_TEXTS.map(({ text }, index) => ({
  key: `part${index}`,
  name: `part ${index}`,
  enabled: true,
  status: 'down' as const,
  url: /^[a-z0-9+]+:\/\/\S+$/.test(text) ? text : null,
  config: { note: text, hints: [text], deep: { list: [[text]] }, [text]: 1 },
}));

/** Sources that mask by their own rules, shown by a router with others. */
export function routedBy(
  redact: NonNullable<MonitorSources['redact']>,
  sources: MonitorSources,
): MonitorSources {
  // By their names alone: a spread would keep the mark of a bundle, which refuses other rules.
  return { ...Object.fromEntries(Object.entries(sources)), redact };
}

/** Every row of the task list. */
export async function listAll(host: Host): Promise<{ text: string; tasks: TasksBody['tasks'] }> {
  const tasks: TasksBody['tasks'] = [];
  let text = '';
  for (let cursor: string | null = ''; cursor !== null; ) {
    const after: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const answer = await host.get<TasksBody>(`/api/tasks/?limit=1000${after}`);
    text += answer.text;
    tasks.push(...answer.body.tasks);
    cursor = answer.body.next_cursor;
  }
  return { text, tasks };
}

/** Reads the path of each row, several at a time, and hands its answer over. */
export async function readEach<Row extends { readonly path: string }>(
  host: Host,
  rows: readonly Row[],
  read: (row: Row, answer: Answer) => void,
): Promise<void> {
  const left = rows.values();
  const work = async (): Promise<void> => {
    for (const row of left) read(row, await host.get(row.path, { agent: keepAlive }));
  };
  await Promise.all(Array.from({ length: 8 }, work));
}

/** What each route but the list and the single task answers, by its path. */
export async function readRoutes(host: Host, id: string): Promise<Map<string, string>> {
  const task = `/api/tasks/${encodeURIComponent(id)}/`;
  const paths = [
    '/healthcheck',
    '/api/components/?stats=60',
    '/api/tasks/?stats=60&stats_causes=1000&limit=1',
    `${task}relations/`,
    `${task}graph/?limit=20000`,
    `${task}graph/updates/?limit=20000`,
    '/api/workers/',
    '/api/events/latest/?limit=1000',
    '/api/beat/schedules/',
  ];
  const bodies = new Map<string, string>();
  for (const path of paths) bodies.set(path, (await host.get(path)).text);
  for (const path of ['/api/events/latest/?limit=1000', `${task}graph/updates/?limit=20000`]) {
    const stream = await askStream(host.base, path);
    await until(() => stream.messages.length > 0);
    stream.close();
    bodies.set(`stream of ${path}`, stream.text());
  }
  return bodies;
}
