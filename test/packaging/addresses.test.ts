import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ROOT, stage } from './packed.ts';

const REPOSITORY = 'https://git.example/owner/name';
const PAGES = ['README.md', 'CHANGELOG.md'];

/** Every page of the documentation, from the root. */
const docs = (): string[] =>
  readdirSync(join(ROOT, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`);

function staged(repository: string) {
  const folder = mkdtempSync(join(tmpdir(), 'task-monitor-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  stage(folder, repository);
  const read = (path: string): string => readFileSync(join(folder, path), 'utf8');
  return { folder, read, manifest: JSON.parse(read('package.json')) as Record<string, unknown> };
}

const linksOf = (page: string) =>
  [...page.matchAll(/(!?)\[[^\]]*\]\(([^)\s]+)\)/g)].map(([, picture, target = '']) => ({
    target,
    isPicture: picture === '!',
  }));
/** What a page says, whatever it links to. */
const wordsOf = (page: string): string =>
  page
    .replace(/!\[[^\]]*\]\([^)]*\)/g, '')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/\s+/g, ' ');

describe('the published package', () => {
  it('names its repository, homepage and issues by one address', () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    const { manifest, read } = staged(REPOSITORY);
    expect(manifest).toMatchObject({
      version,
      homepage: `${REPOSITORY}#readme`,
      bugs: { url: `${REPOSITORY}/issues` },
      repository: { type: 'git', url: `git+${REPOSITORY}.git` },
    });
    for (const page of PAGES) {
      const links = linksOf(read(page));
      expect(links.length).toBeGreaterThan(10);
      for (const { target, isPicture } of links) {
        expect(target).toMatch(/^https?:/);
        if (!target.startsWith(REPOSITORY)) continue;
        const start = `${REPOSITORY}/${isPicture ? 'raw' : 'blob'}/v${version}/`;
        expect(target.startsWith(start), target).toBe(true);
        expect(existsSync(join(ROOT, target.slice(start.length).replace(/#.*/, ''))), target).toBe(true);
      }
    }
  });

  it('names no address while there is none, and its links lead to files that it has', () => {
    const { folder, manifest, read } = staged('');
    expect(Object.keys(manifest)).toEqual(expect.not.arrayContaining(['homepage', 'bugs', 'repository']));
    const pages = [...PAGES, ...docs()];
    for (const page of pages) {
      const links = linksOf(read(page)).filter(({ target }) => !/^(?:https?:|#)/.test(target));
      const dead = links.filter(
        ({ target, isPicture }) =>
          isPicture || !existsSync(join(folder, dirname(page), target.replace(/#.*/, ''))),
      );
      expect(dead, page).toEqual([]);
      expect(wordsOf(read(page))).toBe(wordsOf(readFileSync(join(ROOT, page), 'utf8')));
    }
    const targets = linksOf(read('README.md')).map(({ target }) => target.replace(/#.*/, ''));
    expect(targets).toEqual(
      expect.arrayContaining(['docs/options.md', 'docs/celery.md', 'docs/alerting.md']),
    );
  });
});
