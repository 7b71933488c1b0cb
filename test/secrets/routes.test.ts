import createDebug from 'debug';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { MonitorOptions } from '../../src/index.ts';
import { type MemorySources, memorySources } from '../../src/memory.ts';
import { selectTasks } from '../../src/select.ts';
import type { MonitorSources } from '../../src/source.ts';
import type { TaskBody, TaskDetailBody, TasksBody } from '../../src/wire.ts';
import { keepAlive } from '../helpers/ask.ts';
import { unsampled } from '../helpers/cases.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { type Host, serve } from '../router/host-kit.ts';
import { leakIn } from './corpus/index.ts';
import { leakFinder } from './leaks.ts';
import {
  components,
  idOf,
  listAll,
  PLAIN_TEXTS,
  readEach,
  readRoutes,
  recordCorpus,
  routedBy,
  SECRET_TEXTS,
  schedules,
} from './places.ts';

const NOW = Date.now();
const leaksIn = leakFinder(SECRET_TEXTS);

function poisoned(redact?: false): MemorySources & MonitorSources {
  const queue = memorySources({ schedules, ...(redact === false && { redact }) });
  recordCorpus(queue, NOW);
  // So long that it stays online on a slow machine.
  queue.recordWorker({ hostname: 'w@1', queues: ['mail'], interval: 3_600 });
  return {
    ...queue,
    components: { name: 'parts', listComponents: () => components },
    health: {
      name: 'checks',
      checkBroker: () => ({
        ok: false,
        error: SECRET_TEXTS.map(({ text }) => text)
          .join('\n')
          .slice(0, 900),
      }),
      checkBackend: () => ({ ok: false, error: "redis://:hunter2hunter2@host, {'token': 'hunter2hunter2'}" }),
    },
  };
}

/** A host whose router masks nothing: only what the source itself returns is without secrets. */
const trustingHost = () => hostOf({ sources: routedBy(false, poisoned()) });

async function hostOf({ sources = poisoned(), ...options }: MonitorOptions = {}): Promise<Host> {
  return await serve(EXPRESS, { sources, ...options });
}

const detailOf = async (host: Host, id: string): Promise<TaskDetailBody> =>
  (await host.get<TaskDetailBody>(`/api/tasks/${id}/`, { agent: keepAlive })).body;

/** The answers about single tasks that show their secret, or no timeline. */
async function leaksInDetails(host: Host): Promise<string[]> {
  const rows = SECRET_TEXTS.map((entry, index) => ({ entry, path: `/api/tasks/${idOf('secret', index)}/` }));
  const leaks: string[] = [];
  await readEach(host, rows, ({ entry }, { text }) => {
    if (!text.includes('"timeline":[{') || leakIn(text, entry) !== null) leaks.push(`${entry.rest}\n${text}`);
  });
  return leaks;
}

/** The texts of a task as a client reads them, out of the JSON that they came in. */
const fieldsOf = ({ args, kwargs, exception, traceback }: TaskBody): (string | null)[] => [
  args,
  kwargs,
  exception,
  traceback,
];

describe('of the texts that a host records,', { timeout: 180_000 }, () => {
  it('no secret is in a list, a graph, the feed, a stream, schedules, components or checks', async () => {
    const host = await hostOf();
    expect(leaksIn((await listAll(host)).text)).toEqual([]);
    for (const [path, text] of await readRoutes(host, 'root')) {
      expect(text.length, path).toBeGreaterThan(60);
      expect(leaksIn(text), path).toEqual([]);
      expect(text, path).not.toContain('hunter2');
    }
  });

  it('no secret is in a task, nor does a search find one', async () => {
    const host = await hostOf();
    expect(await leaksInDetails(host)).toEqual([]);
    for (const [index, entry] of SECRET_TEXTS.entries()) {
      // Each search looks at every task; `redactor.test.ts` asks for all of them.
      if (index % 10 !== 0) continue;
      const part = entry.secrets[0] ?? '';
      const found = await host.get<TasksBody>(`/api/tasks/?limit=1&q=${encodeURIComponent(part)}`);
      expect(found.body.tasks, entry.rest).toEqual([]);
    }
  });

  it('what is harmless is as it was', async () => {
    const host = await hostOf();
    const rows = new Map((await listAll(host)).tasks.map((task) => [task.task_id, task]));
    for (const [index, text] of PLAIN_TEXTS.entries()) {
      const id = idOf('harmless', index);
      const shown = [
        text,
        JSON.stringify({ note: text }),
        `Error: ${text}`,
        `Error: ${text}\n    at charge (/srv/shop.js:1:2)`,
      ];
      expect(fieldsOf(rows.get(id) as TaskBody)).toEqual(shown);
      expect(fieldsOf(await detailOf(host, id))).toEqual(shown);
      expect(rows.get(`${id}-done`)?.result).toBe(JSON.stringify([text]));
    }
  });

  it('every secret is seen when the redaction is off, which proves that these tests can fail', async () => {
    const host = await hostOf({ sources: poisoned(false) });
    const rows = new Map((await listAll(host)).tasks.map((task) => [task.task_id, task]));
    for (const [index, entry] of SECRET_TEXTS.entries()) {
      const shown = fieldsOf(rows.get(idOf('secret', index)) as TaskBody).join('\n');
      expect(leakIn(shown, entry), entry.rest).not.toBeNull();
    }
    for (const [path, text] of await readRoutes(host, 'root')) {
      if (!/relations|workers|stats|updates/.test(path)) expect(leaksIn(text), path).not.toEqual([]);
    }
  });

  it('the source alone hides each secret, whatever the router does', async () => {
    const host = await trustingHost();
    expect(leaksIn((await listAll(host)).text)).toEqual([]);
    for (const [path, text] of await readRoutes(host, 'root')) {
      // These two have texts of the host's own parts.
      if (!/healthcheck|components/.test(path)) expect(leaksIn(text), path).toEqual([]);
    }
    expect(await leaksInDetails(host)).toEqual([]);
  });

  it('the router alone hides each secret, whatever the source does', async () => {
    const host = await hostOf({ sources: routedBy({}, poisoned(false)) });
    expect(leaksIn((await listAll(host)).text)).toEqual([]);
    for (const [path, text] of await readRoutes(host, 'root')) expect(leaksIn(text), path).toEqual([]);
  });

  unsampled(() => {
    it('each text is masked once, by the rules of its source', async () => {
      const seen: string[] = [];
      const redact = (text: string) => {
        seen.push(text);
        return text.replace('DE', 'FR');
      };
      const queue = memorySources({ redact: { keys: ['tax id'], redact } });
      queue.record({
        id: 'a',
        state: 'STARTED',
        args: "{'password': 'x', 'tax_id': 'DE-17', 'from': 'DE DE'}",
      });
      const host = await hostOf({ sources: queue });
      const masked = "{'password': '***', 'tax_id': '***', 'from': 'DE DE'}";
      const shown = masked.replace('DE', 'FR');
      expect((await detailOf(host, 'a')).args).toBe(shown);
      expect((await host.get<TasksBody>('/api/tasks/?q=FR')).body.tasks).toMatchObject([{ args: shown }]);
      expect((await host.get<TasksBody>('/api/tasks/?q=DE-17')).body.tasks).toEqual([]);
      expect(seen).toEqual([masked]);
    });

    it('the rules of a source hold for all that it gives', async () => {
      const text = "{'tax_id': 'DE-17'}";
      const name = 'shop';
      const event = { id: '1', type: 'task-failed', taskId: 'a', timestamp: new Date(NOW), detail: text };
      const sources: MonitorSources = {
        tasks: {
          name,
          listTasks: (query) => selectTasks([{ id: 'a', state: 'STARTED', args: text }], query),
          getTask: () => ({ id: 'a', state: 'STARTED', args: text }),
        },
        events: { name, listEvents: () => ({ events: [event], cursor: '1', gap: false }) },
        schedules: { name, listSchedules: () => [{ id: '1', name: 'nightly', args: text }] },
        components: {
          name,
          listComponents: () => [
            { key: 'db', name: 'db', enabled: true, status: 'up', config: { taxId: 'DE-17' } },
          ],
        },
        health: { name, checkBroker: () => ({ ok: false, error: text }) },
      };
      const paths = [
        ...['/api/tasks/', '/api/tasks/a/', '/api/events/latest/', '/api/beat/schedules/'],
        ...['/api/components/', '/healthcheck?checks=broker'],
      ];
      const bare = await hostOf({ sources });
      const host = await hostOf({ sources: { ...sources, redact: { keys: ['tax id'] } } });
      for (const path of paths) {
        expect((await bare.get(path)).text, path).toContain('DE-17');
        const { text } = await host.get(path);
        expect(text, path).toContain('***');
        expect(text, path).not.toContain('DE-17');
      }
      expect((await host.get<TasksBody>('/api/tasks/?q=DE-17')).body.tasks).toEqual([]);
    });

    it('the host decides which keys are secret, more than ours or others', async () => {
      const text = "{'password': 'hunter2', 'tax_id': 'DE-17', 'author': 'Ann'}";
      const shownWith = async (redact: NonNullable<MonitorSources['redact']>) => {
        const args = await Promise.all(
          [memorySources({ redact }), memorySources({ redact: false })].map(async (queue) => {
            queue.record({ id: 'a', state: 'STARTED', args: text });
            const sources = queue.redact === false ? { ...queue, redact } : queue;
            return (await detailOf(await hostOf({ sources }), 'a')).args;
          }),
        );
        expect(args[0]).toBe(args[1]);
        return args[0];
      };
      const ours = "{'password': '***', 'tax_id': 'DE-17', 'author': 'Ann'}";
      expect(await shownWith({})).toBe(ours);
      expect(await shownWith({ keys: ['tax id'] })).toBe(ours.replace('DE-17', '***'));
      const theirs = await shownWith({ keys: [/^author$/], replaceKeys: true });
      expect(theirs).toBe(text.replace('Ann', '***'));
      expect(await shownWith((value) => value.replace('17', '##'))).toBe(text.replace('17', '##'));
      expect(await shownWith(false)).toBe(text);
    });
  });
});

describe('of what a source throws,', { timeout: 180_000 }, () => {
  it('no secret is in the body of an error or in what is logged; the host gets the error itself', async () => {
    const lines: string[] = [];
    const log = vi.spyOn(createDebug, 'log').mockImplementation((...line: unknown[]) => {
      lines.push(line.map(String).join(' '));
    });
    createDebug.enable('express-task-monitor:*');
    onTestFinished(() => {
      createDebug.disable();
      log.mockRestore();
    });
    const thrown: unknown[] = [];
    const fail = (entry: (typeof SECRET_TEXTS)[number]) => () => {
      throw new Error(entry.text);
    };
    const step = Math.ceil(SECRET_TEXTS.length / 30);
    for (const entry of SECRET_TEXTS.filter((_, index) => index % step === 0)) {
      const name = 'shop';
      const host = await hostOf({
        sources: {
          tasks: { name, listTasks: fail(entry), getTask: fail(entry), getTaskTree: fail(entry) },
          workers: { name, listWorkers: fail(entry) },
          health: { name, checkBroker: fail(entry) },
        },
        onError: (error) => thrown.push(error),
      });
      const id = encodeURIComponent(entry.text.slice(0, 100));
      const paths = ['/api/tasks/', '/api/tasks/a/', '/api/tasks/a/graph/', '/api/workers/', '/healthcheck'];
      for (const path of [...paths, `/api/tasks/?state=&nonsense=${id}&limit=${id}`]) {
        const { status, text } = await host.get(path);
        expect(status).toBeGreaterThanOrEqual(400);
        expect(leakIn(text, entry), `${path}: ${text}`).toBeNull();
      }
    }
    expect(thrown.length).toBeGreaterThan(20);
    expect(lines.length).toBeGreaterThan(20);
    expect(leaksIn(lines.join('\n'))).toEqual([]);
  });
});
