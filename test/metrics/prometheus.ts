/** Debian's Prometheus, which scrapes what a test serves. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, isInstalled, startProcess } from './real-process.ts';

/** Why tests that need Prometheus cannot run here; `null` when they can. */
export const prometheusMissing: string | null = isInstalled('prometheus') ? null : 'install prometheus';

/** One series that a query finds. */
export interface Series {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A running Prometheus. */
export interface Prometheus {
  /** @throws with what Prometheus says of an invalid query */
  query(text: string): Promise<readonly Series[]>;
  close(): Promise<void>;
}

/**
 * @param jobs URLs to scrape every two seconds, by the name of the job
 * @param rules a rule file, whose rules are evaluated every second
 */
export async function startPrometheus(
  jobs: Readonly<Record<string, string>>,
  rules = 'groups: []',
): Promise<Prometheus> {
  const folder = await mkdtemp(join(tmpdir(), 'monitor-prometheus-'));
  const scrapes = Object.entries(jobs).flatMap(([name, url]) => [
    `  - job_name: ${name}`,
    `    metrics_path: ${new URL(url).pathname}`,
    `    static_configs: [{ targets: ['${new URL(url).host}'] }]`,
  ]);
  const config = [
    'global: { scrape_interval: 2s, scrape_timeout: 2s, evaluation_interval: 1s }',
    'rule_files: [rules.yml]',
    'scrape_configs:',
    ...scrapes,
  ];
  await writeFile(join(folder, 'prometheus.yml'), config.join('\n'));
  await writeFile(join(folder, 'rules.yml'), rules);
  const api = `http://127.0.0.1:${await freePort()}`;
  const process = startProcess('prometheus', [
    `--config.file=${join(folder, 'prometheus.yml')}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=${api.slice('http://'.length)}`,
  ]);
  return {
    async query(text) {
      process.check();
      const answer = await fetch(`${api}/api/v1/query?query=${encodeURIComponent(text)}`);
      const { data, error } = (await answer.json()) as {
        data?: { result: { metric: Record<string, string>; value: [number, string] }[] };
        error?: string;
      };
      if (data === undefined) throw new Error(`${text}: ${error}`);
      return data.result.map(({ metric, value }) => ({ metric, value: Number(value[1]) }));
    },
    async close() {
      await process.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
