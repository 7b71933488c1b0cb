import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import type { MonitorSources } from '../../src/index.ts';
import { combineSources } from '../../src/index.ts';
import type { ComponentsBody, ProblemBody } from '../../src/wire.ts';
import { ask } from '../helpers/ask.ts';
import { countingSource, linesOf, linesOfSources, serve, textOf } from './own-metrics-kit.ts';
import { isInstalled } from './real-process.ts';

const OPENMETRICS =
  'application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.3,*/*;q=0.1';

describe('own metrics', () => {
  it('are Prometheus text by default, and OpenMetrics for whom prefers it', async () => {
    const { base } = await serve({ sources: countingSource(), metrics: true });
    const { status, headers, bytes } = await ask(base, '/metrics');
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(linesOfSources(bytes.toString())).toEqual([
      '# HELP task_monitor_metrics_overflow_total Observations counted under other, and series left out, because there were too many series.',
      '# TYPE task_monitor_metrics_overflow_total counter',
      'task_monitor_metrics_overflow_total{source="jobs"} 2',
      '# HELP jobs_done_total Jobs that are done.',
      '# TYPE jobs_done_total counter',
      'jobs_done_total{name="job 0"} 0',
      'jobs_done_total{name="job 1"} 1',
      'jobs_done_total{name="job 2"} 2',
      '# HELP jobs_waiting Jobs that "wait"\\nor \\\\ are due.',
      '# TYPE jobs_waiting gauge',
      'jobs_waiting{queue="a\\"b\\\\c\\nd"} 7',
      '# HELP jobs_seconds Run time.',
      '# TYPE jobs_seconds histogram',
      'jobs_seconds_bucket{le="0.5",name="job 0"} 1',
      'jobs_seconds_bucket{le="1.0",name="job 0"} 2',
      'jobs_seconds_bucket{le="2.5",name="job 0"} 2',
      'jobs_seconds_bucket{le="+Inf",name="job 0"} 3',
      'jobs_seconds_sum{name="job 0"} 4.25',
      'jobs_seconds_count{name="job 0"} 3',
      '',
    ]);
    const open = await ask(base, '/metrics', { headers: { accept: OPENMETRICS } });
    expect(open.headers['content-type']).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8');
    const lines = open.bytes.toString().split('\n');
    expect(lines).toContain('# TYPE jobs_done counter');
    expect(lines).toContain('jobs_done_total{name="job 2"} 2');
    expect(lines.slice(-2)).toEqual(['# EOF', '']);
  });

  it.skipIf(!isInstalled('promtool'))('are valid for promtool', async () => {
    const { base } = await serve({ sources: countingSource('jobs', 500), metrics: true });
    const { stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
      input: await textOf(base),
      encoding: 'utf8',
    });
    expect([stdout, stderr.replace(/.*(?:counter|histogram|base unit|metric name).*\n?/g, '')]).toEqual([
      '',
      '',
    ]);
  });

  it('open one meter for each source, and close it with the router', async () => {
    const sources = countingSource();
    const { router } = await serve({ sources, metrics: { hostname: true } });
    expect(sources.opened).toEqual([{ hostname: true, mostSeries: 9_000 }]);
    await router.close();
    expect(sources.closed).toBe(1);
  });

  it('are not counted without the option', async () => {
    const sources = countingSource();
    const { base } = await serve({ sources });
    expect((await ask<ProblemBody>(base, '/metrics')).body.code).toBe('metrics_disabled');
    expect(sources.opened).toEqual([]);
  });

  it('carry the label source where two sources have the same metric', async () => {
    const [jobs, mails] = [countingSource(), countingSource('mails')];
    const { base } = await serve({ sources: combineSources(jobs, mails), metrics: true });
    expect(linesOf(await textOf(base), 'jobs_waiting')).toEqual([
      'jobs_waiting{queue="a\\"b\\\\c\\nd",source="jobs"} 7',
      'jobs_waiting{queue="a\\"b\\\\c\\nd",source="mails"} 7',
    ]);
    expect(jobs.opened).toEqual([{ hostname: false, mostSeries: 4_500 }]);
  });

  it('leave out the series beyond 10,000, and count them', async () => {
    const { base } = await serve({ sources: countingSource('jobs', 10_500), metrics: true });
    const text = await textOf(base);
    expect(text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))).toHaveLength(10_000);
    expect(
      linesOf(
        await textOf(base, { accept: OPENMETRICS }),
        'task_monitor_metrics_overflow_total{source="jobs"',
      ),
    ).toEqual([
      // 2 of the source; two series of the overflow and 9,998 jobs fit, 502 jobs, a gauge and a histogram do not.
      'task_monitor_metrics_overflow_total{source="jobs"} 506',
    ]);
  });

  it('are served without the series of a source that fails, which the host hears of', async () => {
    const errors: unknown[] = [];
    const broken: MonitorSources = {
      experimental: {
        name: 'broken',
        openMeter: () => ({
          families: [{ name: 'broken_total', help: 'Nothing.', type: 'counter' }],
          collect: () => Promise.reject(new Error('down')),
          close() {},
        }),
      },
    };
    const { base } = await serve({
      sources: combineSources(countingSource(), broken),
      metrics: true,
      onError: (_error, { source, call, code }) => void errors.push([source, call, code]),
    });
    const text = await textOf(base);
    expect(linesOf(text, 'jobs_waiting')).toHaveLength(1);
    expect(linesOf(text, 'broken_total')).toEqual([]);
    expect(errors).toEqual([['broken', 'collect', 'source_unavailable']]);
  });

  it('are shared by concurrent scrapes', async () => {
    let collected = 0;
    let arrived = 0;
    let open = (): void => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const sources: MonitorSources = {
      experimental: {
        name: 'jobs',
        openMeter: () => ({
          families: [{ name: 'jobs', help: 'Jobs.', type: 'gauge' }],
          async collect() {
            await gate;
            return [{ name: 'jobs', samples: [{ labels: {}, value: ++collected }] }];
          },
          close() {},
        }),
      },
    };
    const authorize = (): boolean => {
      if (++arrived === 64) open();
      return true;
    };
    const { base } = await serve({ sources, metrics: true, authorize, timeoutMs: 60_000 });
    const texts = await Promise.all(Array.from({ length: 64 }, () => textOf(base)));
    expect(new Set(texts).size).toBe(1);
    expect(collected).toBe(1);
  });

  it('are a component that is up', async () => {
    const { base } = await serve({ sources: countingSource(), metrics: true });
    const { body } = await ask<ComponentsBody>(base, '/api/components/');
    expect(body.metrics).toMatchObject({ enabled: true, status: 'up', url: null });
  });
});
