import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ROOT, stage } from './packed.ts';

const REPOSITORY = 'https://git.example/owner/name';
const PAGES = ['README.md', 'CHANGELOG.md'];

function staged(repository: string) {
  const folder = mkdtempSync(join(tmpdir(), 'task-monitor-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  stage(folder, repository);
  const read = (path: string): string => readFileSync(join(folder, path), 'utf8');
  return { read, manifest: JSON.parse(read('package.json')) as Record<string, unknown> };
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

  it('names no address while there is none, and has no link that leads nowhere', () => {
    const { manifest, read } = staged('');
    expect(Object.keys(manifest)).toEqual(expect.not.arrayContaining(['homepage', 'bugs', 'repository']));
    for (const page of PAGES) {
      const stray = linksOf(read(page)).filter(({ target }) => !/^https?:/.test(target));
      expect(stray).toEqual([]);
      expect(wordsOf(read(page))).toBe(wordsOf(readFileSync(join(ROOT, page), 'utf8')));
    }
  });
});
