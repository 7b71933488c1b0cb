import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './packed.ts';

/** A fenced block of one of our pages. */
export interface CodeBlock {
  /** Page and line, for titles. */
  readonly where: string;
  readonly language: string;
  readonly text: string;
}

/** Every fenced block of a page. */
export function codeBlocks(page: string): CodeBlock[] {
  const text = readFileSync(join(ROOT, page), 'utf8');
  return [...text.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map((match) => ({
    where: `${page}:${text.slice(0, match.index).split('\n').length}`,
    language: match[1] ?? '',
    text: match[2] ?? '',
  }));
}

/** Every page of ours. */
export const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'docs/alerting.md',
  'docs/api.md',
  'docs/architecture.md',
  'docs/writing-a-source.md',
  'docs/errors.md',
  'docs/hosts.md',
  'docs/guarding.md',
  'docs/celery.md',
  'docs/celery-redis.md',
  'docs/celery-rabbitmq.md',
  'docs/sql-results.md',
  'docs/bullmq.md',
  'docs/client.md',
  'docs/history.md',
  'docs/replicas.md',
  'docs/scaling.md',
  'docs/memory.md',
  'docs/options.md',
  'docs/operating.md',
  'docs/troubleshooting.md',
  'docs/how-it-works.md',
  'docs/moving.md',
  'docs/upgrading.md',
  'docs/versions.md',
  'docs/threat-model.md',
  '.github/SECURITY.md',
  'docs/benchmarks.md',
  'CHANGELOG.md',
  'docs/grafana/README.md',
  'docs/llms.txt',
  'examples/README.md',
  'examples/mcp/README.md',
  'examples/shared-history/README.md',
];
