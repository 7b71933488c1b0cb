import { readdirSync } from 'node:fs';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { SAMPLED } from '../settings.ts';
import { ENTRIES, filesBelow, ROOT, statementsOf } from './source-files.ts';

const TOP_LEVEL = [
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'LICENSE',
  'README.md',
  'benchmarks',
  'docs',
  'examples',
  'package-lock.json',
  'package.json',
  'src',
  'test',
  'tsconfig.json',
  'tsup.config.ts',
];
/** What tools make and git ignores. */
const MADE = ['coverage', 'dist', 'node_modules'];
/** Pass on all names of other files: those that two entries have in common, and those of types. */
const PASSING = ['src/index.ts', 'src/node.ts', 'src/source.ts', 'src/wire.ts'];

const sources = filesBelow('src', ['.ts', '.tsx', '.css']);
const code = sources.filter(({ path }) => !path.endsWith('.css'));
const everything = [
  ...sources,
  ...filesBelow('test'),
  ...filesBelow('examples', ['.ts', '.js', '.mjs', '.py']),
  ...filesBelow('benchmarks'),
  ...filesBelow('docs', ['.mjs']),
];

describe('files', () => {
  it('has nothing at the top that is not meant to be there', () => {
    const strays = readdirSync(ROOT).filter(
      (name) => !name.startsWith('.') && !TOP_LEVEL.includes(name) && !MADE.includes(name),
    );
    expect(strays).toEqual([]);
  });

  it('lists the tests that try a sample of their cases, so that the long tests try the rest of them', () => {
    const sampling = everything
      .filter(({ text }) => /from '[./]+(?:helpers\/cases|places)\.ts'|SAMPLED_VERSIONS/.test(text))
      .map(({ path }) => path)
      .filter((path) => path.endsWith('.test.ts') && !path.startsWith('test/architecture/'));
    expect(sampling).toEqual([...SAMPLED]);
  });

  it('registers no hook of a test where a module of tests is loaded, which the files of a process do once', () => {
    const strays = filesBelow('test')
      .filter(({ path }) => !/\.(?:test|node22)\.ts$|^test\/setup\.ts$/.test(path))
      .filter(({ text }) => /^(?:before|after)(?:Each|All)\(/m.test(text))
      .map(({ path }) => path);
    expect(strays).toEqual([]);
  });

  it('has every module that the pages name', () => {
    const paths = everything.map(({ path }) => `/${path}`);
    const strays = filesBelow('docs', ['.md']).flatMap(({ path, text }) =>
      [...text.matchAll(/`([\w./-]+\.tsx?)`/g)]
        .map(([, name = '']) => name)
        .filter((name) => !paths.some((one) => one.endsWith(`/${name}`)))
        .map((name) => `${path}: ${name}`),
    );
    expect(strays).toEqual([]);
  });

  it('names files in kebab-case', () => {
    const strays = everything
      .map(({ path }) => path)
      .filter((path) => !/^(?:[a-z0-9]+(?:-[a-z0-9]+)*[/.])+(?:test\.|config\.)?[a-z]+$/.test(path));
    expect(strays).toEqual([]);
  });

  it('passes on from its entries nothing but names of other files', () => {
    for (const path of [...ENTRIES, 'src/names.ts']) {
      const file = sources.find((candidate) => candidate.path === path);
      expect(file && statementsOf(file).every(ts.isExportDeclaration), path).toBe(true);
    }
  });

  it('exports names one by one', () => {
    const strays = code.filter(
      ({ path, text }) => /^export (?:type )?\*/m.test(text) && !PASSING.includes(path),
    );
    expect(strays.map(({ path }) => path)).toEqual([]);
  });

  it('silences the compiler nowhere', () => {
    const strays = code.filter(({ text }) => /@ts-(?:ignore|nocheck|expect-error)/.test(text));
    expect(strays.map(({ path }) => path)).toEqual([]);
  });

  it('leaves no note of work to be done in the library', () => {
    const strays = sources.filter(({ text }) => /\b(?:TODO|FIXME|XXX)\b/.test(text)).map(({ path }) => path);
    expect(strays).toEqual([]);
  });

  it('never unhinges the whole suite by a focused test', () => {
    const strays = filesBelow('test')
      .filter(({ text }) => /\b(?:it|test|describe)\.(?:only|todo)\(/.test(text))
      .map(({ path }) => path);
    expect(strays).toEqual([]);
  });
});
