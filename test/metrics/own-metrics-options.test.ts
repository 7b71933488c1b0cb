import { Counter, Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { combineSources, createMonitorRouter, type MonitorSources } from '../../src/index.ts';
import { ask } from '../helpers/ask.ts';
import { runScript } from '../helpers/run-script.ts';
import { countingSource, linesOf, linesOfSources, serve, textOf } from './own-metrics-kit.ts';

describe("own metrics in the host's registry", () => {
  it("are served with the host's, and leave with the router", async () => {
    const register = new Registry();
    new Counter({ name: 'orders_total', help: 'Orders.', registers: [register] }).inc(5);
    const { base, router } = await serve({ sources: countingSource(), metrics: { register } });
    const text = await textOf(base);
    expect(linesOf(text, 'orders_total')).toEqual(['orders_total 5']);
    expect(linesOf(text, 'jobs_seconds_count')).toEqual(['jobs_seconds_count{name="job 0"} 3']);
    expect(linesOfSources(await register.metrics())).toEqual(linesOfSources(text));
    await router.close();
    expect(register.getMetricsAsArray().map(({ name }) => name)).toEqual(['orders_total']);
  });

  it('are OpenMetrics where the registry is', async () => {
    const register = new Registry();
    register.setContentType(Registry.OPENMETRICS_CONTENT_TYPE as never);
    const { base } = await serve({ sources: countingSource(), metrics: { register } });
    for (let scrape = 0; scrape < 2; scrape++) {
      const lines = (await register.metrics()).split('\n');
      expect(lines).toContain('# TYPE jobs_done counter');
      expect(lines).toContain('jobs_done_total{name="job 2"} 2');
    }
    expect((await ask(base, '/metrics')).headers['content-type']).toContain('openmetrics');
  });

  it('are refused at creation when the registry has a metric of the same name', () => {
    const register = new Registry();
    new Counter({ name: 'jobs_done_total', help: 'Mine.', registers: [register] });
    const sources = countingSource();
    expect(() => createMonitorRouter({ sources, authorize: false, metrics: { register } })).toThrow(
      /'metrics.register' has a metric named 'jobs_done_total' already/,
    );
    expect(register.getMetricsAsArray().map(({ name }) => name)).toEqual(['jobs_done_total']);
    expect(sources.closed).toBe(1);
  });
});

describe('the option metrics', () => {
  it('answers 503 and says what to install where prom-client is missing', async () => {
    // Node looks for a package that is not there, and says so as it does to such a host.
    const hook = `export const resolve = (name, context, next) => next(name === 'prom-client' ? 'no-such-package' : name, context);`;
    const register = `import { register } from 'node:module';
      register('data:text/javascript,' + encodeURIComponent(${JSON.stringify(hook)}));`;
    const script = `import { createServer } from 'node:http';
      import { createMonitorRouter } from './src/index.ts';
      const router = createMonitorRouter({ authorize: false, dashboard: false, metrics: true });
      const server = createServer(router).listen(0, '127.0.0.1', async () => {
        const url = 'http://127.0.0.1:' + server.address().port;
        const { status, code, detail } = await (await fetch(url + '/metrics')).json();
        const { metrics } = await (await fetch(url + '/api/components/')).json();
        console.log(JSON.stringify([status, code, detail, metrics.status]));
        server.closeAllConnections();
        server.close();
        await router.close();
      });`;
    const { stdout } = await runScript(script, [
      '--import',
      `data:text/javascript,${encodeURIComponent(register)}`,
    ]);
    expect(JSON.parse(stdout)).toEqual([
      503,
      'exporter_unavailable',
      'The package prom-client is not installed: run npm install prom-client.',
      'down',
    ]);
  });

  it.each<readonly [string, unknown, RegExp]>([
    ['a text', 'http://127.0.0.1:9100/metrics', /'metrics' must be true, false or an object such as/],
    ['a hostname that is no boolean', { hostname: 'yes' }, /'metrics.hostname' must be true or false/],
    [
      'something else as a registry',
      { register: {} },
      /'metrics.register' must be a Registry of prom-client/,
    ],
    ['an unknown member', { hostnames: true }, /Did you mean 'hostname'/],
  ])('refuses %s', (_, metrics, message) => {
    expect(() => createMonitorRouter({ authorize: false, metrics: metrics as never })).toThrow(message);
  });

  it('refuses a source whose metrics have wrong names, or differ from those of another', () => {
    const named = (name: string, type: 'counter' | 'gauge', of = 'jobs'): MonitorSources => ({
      experimental: {
        name: of,
        openMeter: () => ({ families: [{ name, help: 'Jobs.', type }], collect: () => [], close() {} }),
      },
    });
    const create = (sources: MonitorSources) => () =>
      createMonitorRouter({ sources, authorize: false, metrics: true });
    expect(create(named('jobs', 'counter'))).toThrow(/_total at the end of counters only/);
    expect(create(named('jobs-done', 'gauge'))).toThrow(/'jobs-done' of the source 'jobs'/);
    const two = combineSources(named('jobs', 'gauge'), {
      experimental: {
        name: 'mails',
        openMeter: () => ({
          families: [{ name: 'jobs', help: 'Jobs.', type: 'histogram', bounds: [1] }],
          collect: () => [],
          close() {},
        }),
      },
    });
    expect(create(two)).toThrow(/Two sources define the metric 'jobs' with different types or bounds/);
  });
});
