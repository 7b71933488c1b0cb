import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { STATUS_OF } from '../../src/errors.ts';
import { createMonitorRouter } from '../../src/index.ts';
import { postgresSchema } from '../../src/postgres.ts';
import { sqliteStore } from '../../src/sqlite.ts';
import { codeBlocks, PAGES } from './code-blocks.ts';
import { ROOT } from './packed.ts';

const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
const options = readFileSync(join(ROOT, 'docs/options.md'), 'utf8');
const document = JSON.parse(readFileSync(join(ROOT, 'src/openapi/openapi.json'), 'utf8')) as {
  readonly paths: Readonly<Record<string, unknown>>;
};
const ajv = new Ajv2020({ strict: false, formats: { 'date-time': true, 'uri-reference': true } });
ajv.addSchema(document, 'openapi');

/** Names of the members of an interface, as its file has them. */
function membersOf(file: string, name: string): string[] {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found = source.statements.find((node) => ts.isInterfaceDeclaration(node) && node.name.text === name);
  return found && ts.isInterfaceDeclaration(found)
    ? found.members.map((member) => member.name?.getText(source) ?? '')
    : [];
}

/** First cells of a table's rows, without their backticks. */
function firstCells(page: string, heading: string): string[] {
  const section = page.split(/^## /m).find((part) => part.startsWith(heading)) ?? '';
  return [...section.matchAll(/^\| `([^`]+)`/gm)].map((match) => match[1] ?? '');
}

/** A number as pages write it: `20,000`, `64 MiB`. */
function numberOf(text: string): number {
  const [digits = '', unit] = text.split(' ');
  return Number(digits.replaceAll(',', '')) * ({ MiB: 1024 ** 2, GiB: 1024 ** 3 }[unit ?? ''] ?? 1);
}

/** Whether a page has a heading, or a place named in HTML, with the address that GitHub gives it. */
function hasHeading(path: string, address: string | undefined): boolean {
  if (address === undefined) return true;
  const text = readFileSync(join(ROOT, path), 'utf8');
  if (text.includes(`name="${address}"`) || text.includes(`id="${address}"`)) return true;
  return [...text.matchAll(/^#+ (.*)$/gm)].some(
    ([, heading = '']) =>
      address ===
      heading
        .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
        .toLowerCase()
        .replace(/[^\p{L}\p{N}_\- ]/gu, '')
        .replaceAll(' ', '-'),
  );
}

function messageOf(create: () => unknown): string {
  try {
    create();
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

describe('the pages', () => {
  it('name every option and no other', () => {
    const groups = { LimitOptions: 'limits', HealthOptions: 'health' };
    const nested = Object.entries(groups).flatMap(([type, group]) =>
      membersOf('src/options.ts', type).map((member) => `${group}.${member}`),
    );
    const plain = membersOf('src/options.ts', 'MonitorOptions').filter(
      (option) => !Object.values(groups).includes(option),
    );
    expect(firstCells(options, 'Options').toSorted()).toEqual([...plain, ...nested].toSorted());
  });

  it.each<[page: string, create: (options: object) => unknown]>([
    ['docs/options.md', (given) => createMonitorRouter(given)],
    ['docs/history.md', (given) => sqliteStore('monitor.db', given)],
  ])('give the default and the bounds of every number (%s)', (page, create) => {
    const rows = readFileSync(join(ROOT, page), 'utf8').matchAll(/^\| `([\w.]+)` \|.*\| ([^|]+) \|$/gm);
    const checked = [...rows].filter(([, option = '', cell = '']) => {
      const [group = '', name] = option.split('.');
      const message = messageOf(() => create({ [group]: name === undefined ? NaN : { [name]: NaN } }));
      const bounds = /a whole number from (\d+) to (\d+), such as (\d+)/.exec(message);
      if (bounds === null) return false;
      const [fallback, ...range] = cell.split(/; | to /).map(numberOf);
      expect([option, ...range, fallback]).toEqual([option, ...bounds.slice(1).map(Number)]);
      return true;
    });
    expect(checked).not.toEqual([]);
  });

  it('name every option of memorySources, and every field of its records', () => {
    const page = readFileSync(join(ROOT, 'docs/memory.md'), 'utf8');
    const source = 'src/sources/memory';
    expect(firstCells(page, 'Options')).toEqual(
      expect.arrayContaining(membersOf(`${source}/memory-sources.ts`, 'MemorySourcesOptions')),
    );
    for (const field of membersOf(`${source}/memory-record.ts`, 'MemoryRecord')) {
      expect(page.split('| field |')[1]).toMatch(new RegExp(`^\\| .*\`${field}\`.* \\|`, 'm'));
    }
  });

  it('drop every table of the history', () => {
    const page = readFileSync(join(ROOT, 'docs/history.md'), 'utf8');
    const dropped = /DROP TABLE ([^;]+);/.exec(page)?.[1]?.split(/,\s+/);
    // Partitions are dropped with their tables.
    const made = [...postgresSchema().matchAll(/CREATE TABLE "?(\w+)"? \(/g)].map(([, name]) => name);
    expect(dropped).toEqual(made);
  });

  it('name every route', () => {
    expect(firstCells(readme, 'Routes')).toEqual(Object.keys(document.paths));
  });

  it('name every error with its status, when it is answered and what to do', () => {
    const page = readFileSync(join(ROOT, 'docs/errors.md'), 'utf8');
    const rows = [...page.matchAll(/^\| `(\w+)` \| (\d+) \| (.{10,}) \| (.{5,}) \|$/gm)];
    const named = rows.map(([, code = '', status]) => [code, Number(status)]);
    expect(Object.fromEntries(named)).toEqual(STATUS_OF);
  });

  it.each([
    ['docs/client.md', 0, 'TasksBody'],
    ['docs/errors.md', 0, 'ProblemBody'],
    ['docs/errors.md', 1, 'TasksBody/properties/sources'],
  ])('shows answers of %s as they are (%i)', (page, index, schema) => {
    const block = codeBlocks(page).filter(({ language }) => language === 'json')[index];
    const body = JSON.parse(block?.text ?? '') as Record<string, unknown>;
    const validate = ajv.getSchema(`openapi#/components/schemas/${schema}`);
    expect(
      validate?.(schema.endsWith('sources') ? body.sources : body),
      ajv.errorsText(validate?.errors),
    ).toBe(true);
  });

  it('lead somewhere', () => {
    const dead = PAGES.flatMap((page) =>
      [...readFileSync(join(ROOT, page), 'utf8').matchAll(/\]\(([^)#:]*)(?:#([^)]*))?\)/g)]
        .map(([, path = '', heading]) => ({ path: path === '' ? page : join(dirname(page), path), heading }))
        .filter(({ path, heading }) => !existsSync(join(ROOT, path)) || !hasHeading(path, heading))
        .map(({ path, heading }) => `${page} -> ${path}#${heading ?? ''}`),
    );
    expect(dead).toEqual([]);
  });

  it('are listed for assistants', () => {
    const index = readFileSync(join(ROOT, 'docs/llms.txt'), 'utf8');
    const pages = readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md'));
    expect(pages.filter((name) => !index.includes(`](${name}): `))).toEqual([]);
  });

  it('give commands that there are', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    const text = PAGES.map((page) => readFileSync(join(ROOT, page), 'utf8')).join('\n');
    const asked = [...text.matchAll(/npm (?:run )?(start|test|bench|run \w+(?::\w+)*)\b/g)].map((match) =>
      (match[1] ?? '').replace('run ', ''),
    );
    expect(asked.filter((name) => !scripts[name])).toEqual([]);
    const files = [...text.matchAll(/(?:node|tsx) (examples\/[\w./-]+)/g)].map((match) => match[1] ?? '');
    expect(files.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  });

  it('keeps the README short enough to be read', () => {
    expect(readme.split('\n').length).toBeLessThanOrEqual(250);
  });
});
