import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { filesBelow, ROOT } from './source-files.ts';
import { titlesOf } from './test-titles.ts';

const openapi = JSON.parse(readFileSync(join(ROOT, 'src/openapi/openapi.json'), 'utf8')) as {
  readonly paths: Readonly<Record<string, unknown>>;
};
const page = readFileSync(join(ROOT, 'docs/api.md'), 'utf8');
// `[router/methods › answers OPTIONS]`; a reference may be wrapped over two lines.
const references = [...page.matchAll(/\[([a-z/-]+) › ([^\]]+)\]/g)].map(([, file = '', title = '']) => ({
  path: `test/${file}.test.ts`,
  title: title.replace(/\s+/g, ' '),
}));

describe('docs/api.md', () => {
  it('names a test for its promises, and each of them is the title of one', () => {
    expect(references.length).toBeGreaterThan(80);
    const files = new Map(filesBelow('test', ['.test.ts']).map((file) => [file.path, file]));
    const titles = new Map<string, readonly string[]>();
    const missing = references.filter(({ path, title }) => {
      const file = files.get(path);
      const found = titles.get(path) ?? (file === undefined ? [] : titlesOf(file));
      titles.set(path, found);
      return !found.some((one) => one.includes(title));
    });
    expect(missing).toEqual([]);
  });

  it('has a section for each route', () => {
    const headings = [...page.matchAll(/^### GET (\S+)$/gm)].map(([, path]) => path);
    expect(headings).toEqual(Object.keys(openapi.paths));
  });

  it('promises something with a test in each section about routes', () => {
    const sections = page.split(/^### GET /m).slice(1);
    const bare = sections
      .filter((section) => !section.includes(' › '))
      .map((section) => section.split('\n')[0]);
    expect(bare).toEqual([]);
  });
});
