import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROUTES } from '../../src/routes/index.ts';
import { ROOT } from './source-files.ts';

const page = readFileSync(join(ROOT, 'docs/api.md'), 'utf8');
// `[router/methods › answers OPTIONS]`; a reference may be wrapped over two lines.
const references = [...page.matchAll(/\[([a-z/-]+) › ([^\]]+)\]/g)].map(([, file = '', title = '']) => ({
  path: `test/${file}.test.ts`,
  title: title.replace(/\s+/g, ' '),
}));

describe('docs/api.md', () => {
  it('names a test for its promises, and each of them exists', () => {
    expect(references.length).toBeGreaterThan(80);
    const missing = references.filter(({ path, title }) => {
      const file = join(ROOT, path);
      if (!existsSync(file)) return true;
      return !readFileSync(file, 'utf8').replace(/\s+/g, ' ').replaceAll("\\'", "'").includes(title);
    });
    expect(missing).toEqual([]);
  });

  it('has a section for each route', () => {
    const headings = [...page.matchAll(/^### GET (\S+)$/gm)].map(([, path]) => path);
    expect(headings).toEqual(ROUTES.map(({ path }) => path));
  });

  it('promises something with a test in each section about routes', () => {
    const sections = page.split(/^### GET /m).slice(1);
    const bare = sections
      .filter((section) => !section.includes(' › '))
      .map((section) => section.split('\n')[0]);
    expect(bare).toEqual([]);
  });
});
