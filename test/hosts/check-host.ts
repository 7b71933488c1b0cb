import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ProblemBody, TasksBody } from '../../src/wire.ts';
import { browserMissing, browserTitle, look } from '../dashboard/browser.ts';
import { ask } from '../helpers/ask.ts';
import { askStream } from '../helpers/ask-stream.ts';
import { until } from '../helpers/redis-server.ts';
import { install, type Recipe, type RunningHost, start } from './host-project.ts';

/** What the recipes let through. */
const headers = { authorization: `Basic ${Buffer.from('ops:change-me').toString('base64')}` };
const FEED = '/api/events/latest/';

/** How a host differs from the others. */
export interface Differences {
  /** True where a guard of the host refuses, in its own words. */
  readonly hasGuard?: boolean;
  /** True where the host drops open connections before it lets anybody close them. */
  readonly dropsStreams?: boolean;
}

/** Runs a recipe, and checks all that a monitor in it has to do. */
export function checkHost(
  recipe: Recipe,
  { hasGuard = false, dropsStreams = false }: Differences = {},
): void {
  describe(`the recipe for ${recipe.name ?? recipe.heading}`, () => {
    let host: RunningHost;

    beforeAll(async () => {
      host = await start(recipe, await install(recipe));
    }, 300_000);
    afterAll(async () => void (await host?.stop()));

    it.skipIf(browserMissing)(browserTitle('shows the page in a browser, and updates it'), async () => {
      const { page } = await look(host.base, '#/tasks', { extraHTTPHeaders: headers });
      await page.getByText('mail.send').nth(2).waitFor();
    });

    it('answers JSON, also to HEAD', async () => {
      // First, since a host may remember the answer to a GET.
      const head = await ask(host.base, '/api/workers/', { headers, method: 'HEAD' });
      const refused = await ask(host.base, '/api/workers/', { method: 'HEAD', ours: false });
      expect([refused.status, refused.text]).toEqual([401, '']);
      const wrong = await ask(host.base, '/api/workers/?no=2', { headers, method: 'HEAD' });
      expect([wrong.status, wrong.text]).toEqual([400, '']);
      // These are answered later than in the turn of the request.
      const health = await ask(host.base, '/healthcheck', { headers, method: 'HEAD' });
      const metrics = await ask(host.base, '/metrics', { headers, method: 'HEAD' });
      expect([health.status, health.headers['content-type'], metrics.status]).toEqual([
        200,
        'application/json; charset=utf-8',
        404,
      ]);
      const { body } = await ask<TasksBody>(host.base, '/api/tasks/?limit=1', { headers });
      expect(body.tasks[0]?.name).toBe('mail.send');
      const answer = await ask(host.base, '/api/workers/', { headers });
      expect([head.status, head.text, head.headers['content-type']]).toEqual([
        200,
        '',
        answer.headers['content-type'],
      ]);
    });

    it('answers what only the monitor can answer: an unknown id with a slash, and a wrong parameter', async () => {
      const [id, parameter] = await Promise.all([
        ask<ProblemBody>(host.base, '/api/tasks/a%2Fb/', { headers }),
        ask<ProblemBody>(host.base, '/api/tasks/?state=1&no=2', { headers }),
      ]);
      expect([id.body.code, parameter.body.code]).toEqual(['task_not_found', 'invalid_parameter']);
    });

    it('streams what happens', async () => {
      const stream = await askStream(host.base, FEED, headers);
      await until(() => stream.messages.length > 2);
      stream.close();
    });

    it('redirects to the right form of the slash', async () => {
      const tasks = await ask(host.base, '/api/tasks?limit=1', { headers });
      expect(tasks.status).toBe(308);
      const to = new URL(tasks.headers.location ?? '', `${host.base}/api/tasks?limit=1`);
      expect(to.href).toBe(`${host.base}/api/tasks/?limit=1`);
      const root = await ask(host.base, '', { headers, ours: false });
      expect([root.status, new URL(root.headers.location ?? '', host.base).href]).toEqual([
        308,
        `${host.base}/`,
      ]);
    });

    it('refuses whom authorize refuses', async () => {
      for (const path of ['/api/tasks/', '/', FEED]) {
        const { status } = await ask(host.base, path, { ours: false });
        expect([path, status]).toEqual([path, 401]);
      }
      if (hasGuard) return;
      const { body } = await ask<ProblemBody>(host.base, '/api/tasks/');
      expect(body.code).toBe('unauthorized');
    });

    it('ends its streams and itself when the process is told to end', async () => {
      const stream = await askStream(host.base, FEED, headers);
      expect(await host.stop()).toBe(true);
      await until(() => stream.isOver());
      if (!dropsStreams) expect(stream.text()).toContain('retry: 2000');
    });
  });
}
