import { describe, expect, it } from 'vitest';
import { runScript } from '../helpers/run-script.ts';

/**
 * What a host's process writes to its standard error while a path is asked for: until something is reported, and
 * some more times.
 */
async function stderrOf(options: string, path: string, most = 1_000): Promise<string> {
  const script = `
    import express from 'express';
    import { createMonitorRouter } from './src/index.ts';
    import { celerySources } from './src/celery.ts';
    import { memorySources } from './src/memory.ts';
    let reported = false;
    const onReport = () => { reported = true; };
    process.on('warning', onReport);
    const router = createMonitorRouter({ dashboard: false, ${options} });
    const server = express().use('/monitor', router).listen(0, '127.0.0.1', async () => {
      for (let left = ${most}; left > 0; left -= 1) {
        await fetch('http://127.0.0.1:' + server.address().port + '/monitor${path}');
        await new Promise((resolve) => setTimeout(resolve, 20));
        if (reported && left > 5) left = 5;
      }
      await router.close();
      process.exit(reported ? 0 : 9);
    });`;
  const { stderr, code } = await runScript(script);
  expect(code).toBe(most === 1_000 ? 0 : 9);
  return stderr;
}

describe('a host without onError is warned once', () => {
  it.each([
    ['a list', '/api/tasks/'],
    ['a health check', '/healthcheck?checks=broker'],
  ])('of a Redis that cannot be reached, by %s', async (_, path) => {
    const stderr = await stderrOf("sources: celerySources({ broker: 'redis://127.0.0.1:1/0' })", path);
    expect(stderr.match(/EXPRESS_TASK_MONITOR_SOURCE_UNAVAILABLE/g)).toHaveLength(1);
    expect(stderr).toContain('nothing listens at that address');
  });

  it.each([
    ['throws', '() => { throw new Error("no session") }', 'no session'],
    ['returns a string', '() => "yes"', 'authorize must return true, false'],
  ])('of an authorize that %s', async (_, authorize, sentence) => {
    const stderr = await stderrOf(`sources: memorySources(), authorize: ${authorize}`, '/api/tasks/');
    expect(stderr.match(/EXPRESS_TASK_MONITOR_FORBIDDEN/g)).toHaveLength(1);
    expect(stderr).toContain(sentence);
  });

  it('of nothing while all is well', async () => {
    expect(await stderrOf('sources: memorySources()', '/healthcheck', 10)).toBe('');
  });

  it('of nothing where it has onError', async () => {
    const options = "sources: celerySources({ broker: 'redis://127.0.0.1:1/0' }), onError: onReport";
    expect(await stderrOf(options, '/api/tasks/')).toBe('');
  });
});
