import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import promises from './promises.json' with { type: 'json' };
import { filesBelow, ROOT } from './source-files.ts';
import { titlesOf } from './test-titles.ts';

const openapi = JSON.parse(readFileSync(join(ROOT, 'src/openapi/openapi.json'), 'utf8')) as {
  readonly paths: Readonly<Record<string, unknown>>;
};
const page = readFileSync(join(ROOT, 'docs/api.md'), 'utf8');
const headings = [...page.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => heading);
/** By section: by file of tests: parts of the titles of tests that prove what the section promises. */
const sections: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = promises;

describe('docs/api.md', () => {
  it('has tests for its promises', () => {
    const files = new Map(filesBelow('test', ['.test.ts']).map((file) => [file.path, file]));
    const titles = new Map<string, readonly string[]>();
    const missing = Object.values(sections)
      .flatMap((tests) => Object.entries(tests))
      .flatMap(([name, parts]) => {
        const file = files.get(`test/${name}.test.ts`);
        const found = titles.get(name) ?? (file === undefined ? [] : titlesOf(file));
        titles.set(name, found);
        return parts
          .filter((part) => !found.some((title) => title.includes(part)))
          .map((part) => [name, part]);
      });
    expect(missing).toEqual([]);
    expect(Object.keys(sections).filter((section) => !headings.includes(section))).toEqual([]);
  });

  it('has a section for each route, with tests', () => {
    const routes = headings.flatMap((heading) => /^GET (\S+)$/.exec(heading ?? '')?.[1] ?? []);
    expect(routes).toEqual(Object.keys(openapi.paths));
    expect(routes.filter((path) => !(`GET ${path}` in sections))).toEqual([]);
  });
});
