import { describe, expect, it } from 'vitest';
import type { ComponentsBody, ProblemBody } from '../../src/wire.ts';
import { ask } from '../helpers/ask.ts';
import { until } from '../helpers/redis-server.ts';
import { runScript } from '../helpers/run-script.ts';
import { healthy, startExporter } from './fake-exporter.ts';
import { mount } from './metrics-host.ts';

/** Status of the exporter among the components. */
async function statusOf(base: string): Promise<string | undefined> {
  const { body, text } = await ask<ComponentsBody>(base, '/api/components/');
  expect(text).not.toContain('hush');
  return body.metrics?.status;
}

// Hostile exporters and hostile requests are rows 31 to 40 of the fault table.
describe('GET /metrics', () => {
  it('answers HEAD with the headers of GET and no body', async () => {
    const exporter = await startExporter(healthy);
    const { base } = await mount(exporter.url);
    const get = await ask(base, '/metrics');
    const head = await ask(base, '/metrics', { method: 'HEAD' });
    expect(head.status).toBe(200);
    expect(head.bytes).toHaveLength(0);
    const { date: _date, ...headers } = get.headers;
    expect(head.headers).toMatchObject(headers);
    for (const request of exporter.requests) expect(request).toMatch(/^GET \/metrics HTTP/);
  });

  it('passes on the query parameters that the host allows, and answers 400 to another', async () => {
    const exporter = await startExporter(healthy);
    const { base } = await mount({ url: exporter.url, query: ['name[]'] });
    expect((await ask(base, '/metrics?name[]=a&name[]=b')).status).toBe(200);
    expect(exporter.requests[0]).toMatch(/^GET \/metrics\?name%5B%5D=a&name%5B%5D=b HTTP/);
    const query = 'target=http://evil/&name[]=a&__proto__=b&target=c';
    const { status, body } = await ask<ProblemBody>(base, `/metrics?${query}`);
    expect(status).toBe(400);
    expect(body.code).toBe('invalid_parameter');
    expect(body.errors?.map(({ parameter }) => parameter).sort()).toEqual(['__proto__', 'target']);
    expect(exporter.requests).toHaveLength(1);
  });

  it('answers 404 while no exporter is configured', async () => {
    const { base } = await mount();
    const { status, body } = await ask<ProblemBody>(base, '/metrics');
    expect([status, body.code]).toEqual([404, 'metrics_disabled']);
    expect(await statusOf(base)).toBe('disabled');
  });

  it('shows the exporter among the components, and asks it for that only if nobody has', async () => {
    const exporter = await startExporter(healthy);
    const { base } = await mount(exporter.url.replace('//', '//user:hush@'));
    await Promise.all([statusOf(base), statusOf(base), statusOf(base)]);
    // Nobody waits for it for longer than a second.
    await until(async () => (await statusOf(base)) === 'up');
    expect(exporter.requests).toHaveLength(1);
    await exporter.close();
    const { base: gone } = await mount(exporter.url);
    await until(async () => (await statusOf(gone)) === 'down');
  });

  it('does not keep the components waiting for an exporter that hangs', async () => {
    const exporter = await startExporter(() => {});
    const { base } = await mount({ url: exporter.url, timeoutMs: 3_000 });
    expect(await statusOf(base)).toBe('unknown');
    await until(() => exporter.open() === 0);
    expect(await statusOf(base)).toBe('down');
    expect(exporter.requests).toHaveLength(1);
  });

  it('loads http-proxy-middleware at the first scrape, and answers 503 where that fails', async () => {
    const hook = `export const resolve = (name, context, next) =>
      next(name === 'http-proxy-middleware' ? 'no-such-package' : name, context);`;
    const register = `import { register } from 'node:module';
      register('data:text/javascript,' + encodeURIComponent(${JSON.stringify(hook)}));`;
    const script = `import { createServer } from 'node:http';
      import { createMonitorRouter } from './src/index.ts';
      const options = { authorize: false, dashboard: false, exporter: 'http://127.0.0.1:9/metrics', onError() {} };
      const router = createMonitorRouter(options);
      const server = createServer(router).listen(0, '127.0.0.1', async () => {
        const url = 'http://127.0.0.1:' + server.address().port;
        const outcomes = [];
        for (const path of ['/healthcheck', '/metrics', '/metrics']) {
          const { status, code } = await (await fetch(url + path)).json();
          outcomes.push([status, code]);
        }
        console.log(JSON.stringify(outcomes));
        server.closeAllConnections();
        server.close();
        await router.close();
      });`;
    const { stdout } = await runScript(script, [
      '--import',
      `data:text/javascript,${encodeURIComponent(register)}`,
    ]);
    const failed = [503, 'exporter_unavailable'];
    expect(JSON.parse(stdout)).toEqual([['pass', null], failed, failed]);
  });
});
