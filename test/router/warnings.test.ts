import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { celerySources } from '../../src/celery.ts';
import type { MonitorOptions } from '../../src/index.ts';
import { memorySources } from '../../src/memory.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { runScript } from '../helpers/run-script.ts';
import { type Host, serve, until } from './host-kit.ts';

/** A host without `onError`, and the codes and texts of what its process has been warned of. */
async function hostWith(options: MonitorOptions): Promise<{ get: Host['get']; warnings: string[] }> {
  const warnings: string[] = [];
  const spy = vi.spyOn(process, 'emitWarning').mockImplementation((text, more) => {
    warnings.push(`${(more as { readonly code?: string }).code} ${String(text)}`);
  });
  onTestFinished(() => spy.mockRestore());
  const { get } = await serve(EXPRESS, options);
  return { get, warnings };
}

const redisAway = () => celerySources({ broker: 'redis://127.0.0.1:1/0' });

describe('a host without onError is warned once', () => {
  it.each([
    ['a list', '/api/tasks/'],
    ['a health check', '/healthcheck?checks=broker'],
  ])('of a Redis that cannot be reached, by %s', async (_, path) => {
    const { get, warnings } = await hostWith({ sources: redisAway() });
    await until(async () => {
      await get(path);
      return warnings.length > 0;
    });
    for (let more = 0; more < 5; more += 1) await get(path);
    expect(warnings).toEqual([
      expect.stringMatching(/^EXPRESS_TASK_MONITOR_SOURCE_UNAVAILABLE .*nothing listens at that address/s),
    ]);
  });

  it('of a server that cannot be reached, before anybody asks', async () => {
    const { get, warnings } = await hostWith({ sources: redisAway() });
    await until(() => warnings.length > 0);
    for (let more = 0; more < 5; more += 1) await get('/api/tasks/');
    expect(warnings).toEqual([
      expect.stringMatching(/^EXPRESS_TASK_MONITOR_SOURCE_UNAVAILABLE .*nothing listens at that address/s),
    ]);
  });

  it.each<[string, () => boolean, string]>([
    [
      'throws',
      () => {
        throw new Error('no session');
      },
      'no session',
    ],
    ['returns a string', () => 'yes' as never, 'authorize must return true, false'],
  ])('of an authorize that %s', async (_, authorize, sentence) => {
    const { get, warnings } = await hostWith({ sources: memorySources(), authorize });
    for (let asked = 0; asked < 5; asked += 1) await get('/api/tasks/');
    expect(warnings).toEqual([expect.stringContaining(sentence)]);
    expect(warnings[0]).toMatch(/^EXPRESS_TASK_MONITOR_FORBIDDEN /);
  });

  it('of nothing while all is well', async () => {
    const { get, warnings } = await hostWith({ sources: memorySources() });
    for (let asked = 0; asked < 5; asked += 1) await get('/healthcheck');
    expect(warnings).toEqual([]);
  });

  it('of nothing where it has onError', async () => {
    const onError = vi.fn();
    const { get, warnings } = await hostWith({ sources: redisAway(), onError });
    await until(async () => {
      await get('/api/tasks/');
      return onError.mock.calls.length > 0;
    });
    expect(warnings).toEqual([]);
  });
});

describe('a monitor that anybody may see', () => {
  it('warns once on standard error, in production alone', async () => {
    const script = `
      import { createMonitorRouter } from './src/index.ts';
      createMonitorRouter({});
      process.env.NODE_ENV = 'production';
      createMonitorRouter({ authorize: false });
      console.error('UNTIL NOW');
      setImmediate(() => { createMonitorRouter({}); createMonitorRouter({}); });`;
    const { code, stderr } = await runScript(script, [], { NODE_ENV: 'test' });
    expect(code).toBe(0);
    expect(stderr.match(/EXPRESS_TASK_MONITOR_UNGUARDED/g)).toHaveLength(1);
    expect(stderr).toMatch(/^UNTIL NOW\n.*authorize: false/s);
  });
});
