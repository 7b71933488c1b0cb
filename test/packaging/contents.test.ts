import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { pack, ROOT } from './packed.ts';

const packed = pack();

const manifest = JSON.parse(readFileSync(join(packed.folder, 'package.json'), 'utf8')) as {
  exports: Record<string, string | Record<string, Record<string, string>>>;
  dependencies: Record<string, string>;
  scripts?: Record<string, string>;
};

/** Every file that the map of exports leads to. */
function targets(value: unknown): string[] {
  if (typeof value === 'string') return [value.replace('./', '')];
  return Object.values(value ?? {}).flatMap(targets);
}

describe('the packed package', () => {
  it('holds what is meant to be published and nothing else', () => {
    // Files that entries share have a hash in their names.
    const shared = /^dist\/(?:chunk-[A-Z0-9]+\.c?js|[a-z-]+-[\w-]{8}\.d\.c?ts)$/;
    const entries = [
      'bullmq',
      'celery',
      'client',
      'index',
      'memory',
      'node',
      'postgres',
      'sqlite',
      'testing',
    ];
    const endings = ['js', 'cjs', 'd.ts', 'd.cts'];
    const expected = [
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'package.json',
      ...readdirSync(join(ROOT, 'docs'))
        .filter((name) => name.endsWith('.md'))
        .map((name) => `docs/${name}`),
      'docs/llms.txt',
      ...['README.md', 'alerts.yml', 'task-monitor.json'].map((name) => `docs/grafana/${name}`),
      'dist/openapi.json',
      'dist/command.js',
      'dist/node-version.cjs',
      'dist/node-version.js',
      'dist/page.js',
      ...entries.flatMap((entry) => endings.map((ending) => `dist/${entry}.${ending}`)),
    ];
    expect(packed.files.filter((path) => !shared.test(path))).toEqual(expected.toSorted());
  });

  it('has every file that its exports lead to', () => {
    for (const target of targets(manifest.exports)) expect(packed.files).toContain(target);
  });

  it('is small', () => {
    // A tenth of it is the documentation.
    expect(packed.size).toBeLessThan(1_450_000);
    expect(packed.unpackedSize).toBeLessThan(5_300_000);
  });

  it('depends on three packages at run time', () => {
    expect(Object.keys(manifest.dependencies)).toEqual(['croner', 'debug', 'http-proxy-middleware']);
  });

  it('runs nothing when it is installed', () => {
    expect(manifest.scripts).toBeUndefined();
  });

  it('names no path of the machine that built it', () => {
    const home = new RegExp(`${process.cwd().replaceAll('\\', '/')}|file://`);
    const strays = packed.files.filter((path) => home.test(readFileSync(join(packed.folder, path), 'utf8')));
    expect(strays).toEqual([]);
  });
});
