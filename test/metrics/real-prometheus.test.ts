import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { MonitorSources } from '../../src/index.ts';
import { ROOT } from '../packaging/packed.ts';
import { mount } from './metrics-host.ts';
import { serve } from './own-metrics-kit.ts';
import { startPrometheus } from './prometheus.ts';
import { freePort, isInstalled, poll, startProcess } from './real-process.ts';

const NODE_EXPORTER = 'prometheus-node-exporter';
const PROMETHEUS = 'prometheus';
const hasExporter = isInstalled(NODE_EXPORTER);
const hasBoth = hasExporter && isInstalled(PROMETHEUS);

/** A test that needs a program says so in its title when it is skipped. */
function titled(title: string, present: boolean, packages: string): string {
  return present ? title : `${title} (skipped: install ${packages})`;
}

async function startNodeExporter(): Promise<string> {
  const port = await freePort();
  const child = startProcess(NODE_EXPORTER, [`--web.listen-address=127.0.0.1:${port}`]);
  onTestFinished(() => child.stop());
  const url = `http://127.0.0.1:${port}/metrics`;
  await poll(
    async () => {
      child.check();
      return (await fetch(url)).status;
    },
    (status) => status === 200,
    20_000,
  );
  return url;
}

describe('a real exporter and Prometheus', () => {
  it.skipIf(!hasExporter)(
    titled("node_exporter's answer comes through unchanged in each format", hasExporter, NODE_EXPORTER),
    async () => {
      const direct = await startNodeExporter();
      const { base } = await mount({ url: direct, query: ['collect[]'] });
      for (const accept of [
        'text/plain;version=0.0.4',
        'application/openmetrics-text;version=1.0.0',
        '*/*',
      ]) {
        const [through, straight] = await Promise.all(
          [`${base}/metrics`, direct].map((address) =>
            fetch(`${address}?collect[]=uname`, { headers: { accept } }),
          ),
        );
        expect(through?.status).toBe(200);
        expect(through?.headers.get('content-type')).toBe(straight?.headers.get('content-type'));
        const bodies = await Promise.all([through?.text(), straight?.text()]);
        // Its own process figures move from one scrape to the next.
        const [own, real] = bodies.map((body) =>
          body?.split('\n').filter((line) => line.startsWith('node_uname_info')),
        );
        expect(own).toHaveLength(1);
        expect(own).toEqual(real);
        expect(bodies[0]).not.toContain('node_memory');
      }
    },
  );

  it.skipIf(!hasExporter)(
    titled('a whole scrape of node_exporter has every family', hasExporter, NODE_EXPORTER),
    async () => {
      const { base } = await mount(await startNodeExporter());
      const body = await (await fetch(`${base}/metrics`)).text();
      expect(body).toMatch(/^node_exporter_build_info\{.*\} 1$/m);
      expect(body.split('\n').length).toBeGreaterThan(300);
      expect(body.endsWith('\n')).toBe(true);
    },
  );

  it.skipIf(!hasBoth)(
    titled('Prometheus scrapes the route and stores its samples', hasBoth, `${PROMETHEUS} ${NODE_EXPORTER}`),
    async () => {
      const { base } = await mount(await startNodeExporter());
      const prometheus = await startPrometheus({ monitor: `${base}/metrics` });
      onTestFinished(() => prometheus.close());
      const ask = async (query: string): Promise<number | undefined> =>
        (await prometheus.query(query))[0]?.value;
      const settled = (query: string, good: (value: number) => boolean) =>
        poll(
          () => ask(query),
          (value) => value !== undefined && good(value),
          40_000,
        );
      await settled('up{job="monitor"}', (value) => value === 1);
      await settled('scrape_samples_scraped{job="monitor"}', (value) => value > 100);
      await settled('node_exporter_build_info{job="monitor"}', (value) => value === 1);
    },
    150_000,
  );
});

const MINUTE = 60_000;

/** A queue that four slots empty too slowly: of 1,200 tasks, one leaves in a second and none arrives. */
function slowQueue(): MonitorSources & { isEmpty: boolean } {
  const begun = Date.now();
  const waitingAt = (time: number): number => Math.round(1_200 - (time - begun) / 1_000);
  const recent = () => {
    const minute = Math.floor(Date.now() / MINUTE) * MINUTE;
    return [3, 2, 1].map((ago) => {
      const at = minute - ago * MINUTE;
      return { at, waiting: waitingAt(at + MINUTE), taken: 60 };
    });
  };
  const source = {
    isEmpty: false,
    tasks: {
      name: 'shop',
      listTasks: () => ({ tasks: [], next: null, total: 0 }),
      getTask: () => null,
    },
    experimental: {
      name: 'shop',
      getActivity: () => ({
        ...{ since: 0, blind: null, silent: [], recent },
        counts: { since: 0, others: '', names: () => [], quantile: () => null },
        open: { running: [], isWhole: true, lost: [], overdue: null, waiting: [] },
      }),
    },
    queues: {
      name: 'shop',
      listQueues: () => [
        {
          name: 'mail',
          waiting: source.isEmpty ? 0 : waitingAt(Date.now()),
          consumers: 2,
          oldestDueAt: null,
          asOf: null,
        },
      ],
    },
    workers: {
      name: 'shop',
      listWorkers: () =>
        ['ann', 'bob'].map((hostname) => ({ hostname, status: 'online', concurrency: 2, queues: ['mail'] })),
    },
  };
  return source as never;
}

/** The query of a recipe in docs/metrics.md, in one line. */
function recipe(member: string): string {
  const page = readFileSync(join(ROOT, 'docs/metrics.md'), 'utf8');
  const [, query = ''] = new RegExp(`${member}: >-\\n((?: {6,}.*\\n)+?)(?: *\\w+:|\`\`\`)`).exec(page) ?? [];
  return query.replace(/\s+/g, ' ').trim().replaceAll('<<.LabelMatchers>>', 'queue="mail"');
}

describe('the recipes for autoscaling', () => {
  it.skipIf(!isInstalled(PROMETHEUS))(
    titled(
      'ask for the slots that a queue needs, and for none once it is empty',
      isInstalled(PROMETHEUS),
      PROMETHEUS,
    ),
    async () => {
      const source = slowQueue();
      const { base } = await serve({ sources: source, metrics: true });
      const prometheus = await startPrometheus({ monitor: `${base}/metrics` });
      onTestFinished(() => prometheus.close());
      const queries = [recipe('query'), recipe('metricsQuery')];
      for (const query of queries) {
        const values = (): Promise<readonly number[]> =>
          prometheus.query(query).then((series) => series.map(({ value }) => value));
        // 60 a minute with four slots; all within ten minutes takes twice as many.
        await poll(values, ([value]) => value !== undefined && value >= 7 && value <= 9, 60_000);
        expect(await values()).toHaveLength(1);
      }
      const forecast = await prometheus.query('task_monitor_queue_drain_seconds{queue="mail"}');
      expect(forecast[0]?.value).toBeGreaterThan(600);
      source.isEmpty = true;
      for (const query of queries) {
        await poll(
          () => prometheus.query(query),
          ([series]) => series?.value === 0,
          60_000,
        );
      }
    },
    150_000,
  );
});
